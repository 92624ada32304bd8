import { MaxPool, type MaxPoolAttrs, type MaxPoolInputs } from '@tensorflow/tfjs-core';
import { pool2D, pooled } from '../families/pool-kernels.js';
import { maxPoolValues } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const maxPool = kernel<MaxPoolInputs, MaxPoolAttrs>(MaxPool, ({ inputs: { x }, attrs, backend }) =>
  pooled(backend, x, pool2D(x.shape, attrs), maxPoolValues),
);
