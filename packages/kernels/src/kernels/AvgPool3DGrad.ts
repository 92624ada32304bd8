import { AvgPool3DGrad, type AvgPool3DGradAttrs, type AvgPool3DGradInputs } from '@tensorflow/tfjs-core';
import { pool3D, poolGradient } from '../families/pool-kernels.js';
import { avgPoolGradient } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const avgPool3DGrad = kernel<AvgPool3DGradInputs, AvgPool3DGradAttrs>(
  AvgPool3DGrad,
  ({ inputs: { dy, input }, attrs, backend }) =>
    poolGradient(backend, dy, input, pool3D(input.shape, attrs), (gradient, _, axes) =>
      avgPoolGradient(gradient, axes),
    ),
);
