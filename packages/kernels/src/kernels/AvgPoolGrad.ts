import { AvgPoolGrad, type AvgPoolGradAttrs, type AvgPoolGradInputs } from '@tensorflow/tfjs-core';
import { pool2D, poolGradient } from '../families/pool-kernels.js';
import { avgPoolGradient } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const avgPoolGrad = kernel<AvgPoolGradInputs, AvgPoolGradAttrs>(
  AvgPoolGrad,
  ({ inputs: { dy, input }, attrs, backend }) =>
    poolGradient(backend, dy, input, pool2D(input.shape, attrs), (gradient, _, axes) =>
      avgPoolGradient(gradient, axes),
    ),
);
