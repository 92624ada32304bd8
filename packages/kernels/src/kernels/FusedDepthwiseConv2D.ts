import {
  FusedDepthwiseConv2D,
  type FusedDepthwiseConv2DAttrs,
  type FusedDepthwiseConv2DInputs,
} from '@tensorflow/tfjs-core';
import { isLinear } from '../families/activation.js';
import { forward2D } from '../families/conv2d.js';
import { resultWithoutValues } from '../gradients/saved-shapes.js';
import { kernel } from '../kernel.js';

export const fusedDepthwiseConv2D = kernel<FusedDepthwiseConv2DInputs, FusedDepthwiseConv2DAttrs>(
  FusedDepthwiseConv2D,
  ({ inputs, attrs, backend }) => {
    const result = forward2D(backend, inputs, attrs, true);
    return isLinear(attrs.activation) ? resultWithoutValues(result) : result;
  },
);
