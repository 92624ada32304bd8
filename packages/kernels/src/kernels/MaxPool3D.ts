import { MaxPool3D, type MaxPool3DAttrs, type MaxPool3DInputs } from '@tensorflow/tfjs-core';
import { pool3D, pooled } from '../families/pool-kernels.js';
import { maxPoolValues } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const maxPool3D = kernel<MaxPool3DInputs, MaxPool3DAttrs>(
  MaxPool3D,
  ({ inputs: { x }, attrs, backend }) => pooled(backend, x, pool3D(x.shape, attrs), maxPoolValues),
);
