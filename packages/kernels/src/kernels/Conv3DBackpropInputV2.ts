import {
  Conv3DBackpropInputV2,
  type Conv3DBackpropInputV2Attrs,
  type Conv3DBackpropInputV2Inputs,
} from '@tensorflow/tfjs-core';
import { inputGradient3D } from '../families/conv3d.js';
import { kernel } from '../kernel.js';

export const conv3DBackpropInputV2 = kernel<Conv3DBackpropInputV2Inputs, Conv3DBackpropInputV2Attrs>(
  Conv3DBackpropInputV2,
  ({ inputs: { dy, filter }, attrs, backend }) => inputGradient3D(backend, dy, filter, attrs),
);
