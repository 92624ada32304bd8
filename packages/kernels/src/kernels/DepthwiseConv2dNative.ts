import {
  DepthwiseConv2dNative,
  type DepthwiseConv2dNativeAttrs,
  type DepthwiseConv2dNativeInputs,
} from '@tensorflow/tfjs-core';
import { forward2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const depthwiseConv2dNative = kernel<DepthwiseConv2dNativeInputs, DepthwiseConv2dNativeAttrs>(
  DepthwiseConv2dNative,
  ({ inputs, attrs, backend }) => forward2D(backend, inputs, attrs, true),
);
