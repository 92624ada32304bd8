import { AvgPool3D, type AvgPool3DAttrs, type AvgPool3DInputs } from '@tensorflow/tfjs-core';
import { pool3D, pooled } from '../families/pool-kernels.js';
import { avgPool } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const avgPool3D = kernel<AvgPool3DInputs, AvgPool3DAttrs>(
  AvgPool3D,
  ({ inputs: { x }, attrs, backend }) =>
    pooled(backend, x, pool3D(x.shape, attrs), (images, axes) => avgPool(images, axes, { minCount: 1 })),
);
