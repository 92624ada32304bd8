import {
  Conv3DBackpropFilterV2,
  type Conv3DBackpropFilterV2Attrs,
  type Conv3DBackpropFilterV2Inputs,
} from '@tensorflow/tfjs-core';
import { filterGradient3D } from '../families/conv3d.js';
import { kernel } from '../kernel.js';

export const conv3DBackpropFilterV2 = kernel<Conv3DBackpropFilterV2Inputs, Conv3DBackpropFilterV2Attrs>(
  Conv3DBackpropFilterV2,
  ({ inputs: { x, dy }, attrs, backend }) => filterGradient3D(backend, x, dy, attrs),
);
