import {
  FusedDepthwiseConv2D,
  type FusedDepthwiseConv2DAttrs,
  type FusedDepthwiseConv2DInputs,
} from '@tensorflow/tfjs-core';
import { forward2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const fusedDepthwiseConv2D = kernel<FusedDepthwiseConv2DInputs, FusedDepthwiseConv2DAttrs>(
  FusedDepthwiseConv2D,
  ({ inputs, attrs, backend }) => forward2D(backend, inputs, attrs, true),
);
