import { AvgPool, type AvgPoolAttrs, type AvgPoolInputs } from '@tensorflow/tfjs-core';
import { pool2D, pooled } from '../families/pool-kernels.js';
import { avgPool as averages } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const avgPool = kernel<AvgPoolInputs, AvgPoolAttrs>(AvgPool, ({ inputs: { x }, attrs, backend }) =>
  pooled(backend, x, pool2D(x.shape, attrs), (images, axes) => averages(images, axes, { minCount: 0 })),
);
