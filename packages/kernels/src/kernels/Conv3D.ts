import { Conv3D, type Conv3DAttrs, type Conv3DInputs } from '@tensorflow/tfjs-core';
import { forward3D } from '../families/conv3d.js';
import { kernel } from '../kernel.js';

export const conv3D = kernel<Conv3DInputs, Conv3DAttrs>(Conv3D, ({ inputs: { x, filter }, attrs, backend }) =>
  forward3D(backend, x, filter, attrs),
);
