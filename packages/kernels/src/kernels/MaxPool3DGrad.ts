import { MaxPool3DGrad, type MaxPool3DGradAttrs, type MaxPool3DGradInputs } from '@tensorflow/tfjs-core';
import { pool3D, poolGradient } from '../families/pool-kernels.js';
import { lastMaxPoolGradient } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const maxPool3DGrad = kernel<MaxPool3DGradInputs, MaxPool3DGradAttrs>(
  MaxPool3DGrad,
  ({ inputs: { dy, input }, attrs, backend }) =>
    poolGradient(backend, dy, input, pool3D(input.shape, attrs), lastMaxPoolGradient),
);
