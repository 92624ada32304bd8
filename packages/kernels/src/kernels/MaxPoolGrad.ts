import { MaxPoolGrad, type MaxPoolGradAttrs, type MaxPoolGradInputs } from '@tensorflow/tfjs-core';
import { pool2D, poolGradient } from '../families/pool-kernels.js';
import { maxPoolGradient } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const maxPoolGrad = kernel<MaxPoolGradInputs, MaxPoolGradAttrs>(
  MaxPoolGrad,
  ({ inputs: { dy, input }, attrs, backend }) =>
    poolGradient(backend, dy, input, pool2D(input.shape, attrs), maxPoolGradient),
);
