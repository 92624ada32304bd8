import {
  DepthwiseConv2dNativeBackpropFilter,
  type DepthwiseConv2dNativeBackpropFilterAttrs,
  type DepthwiseConv2dNativeBackpropFilterInputs,
} from '@tensorflow/tfjs-core';
import { filterGradient2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const depthwiseConv2dNativeBackpropFilter = kernel<
  DepthwiseConv2dNativeBackpropFilterInputs,
  DepthwiseConv2dNativeBackpropFilterAttrs
>(DepthwiseConv2dNativeBackpropFilter, ({ inputs, attrs, backend }) =>
  filterGradient2D(backend, inputs.x, inputs.dy, attrs, true),
);
