import {
  DepthwiseConv2dNativeBackpropInput,
  type DepthwiseConv2dNativeBackpropInputAttrs,
  type DepthwiseConv2dNativeBackpropInputInputs,
} from '@tensorflow/tfjs-core';
import { inputGradient2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const depthwiseConv2dNativeBackpropInput = kernel<
  DepthwiseConv2dNativeBackpropInputInputs,
  DepthwiseConv2dNativeBackpropInputAttrs
>(DepthwiseConv2dNativeBackpropInput, ({ inputs, attrs, backend }) =>
  inputGradient2D(backend, inputs.dy, inputs.filter, attrs, true),
);
