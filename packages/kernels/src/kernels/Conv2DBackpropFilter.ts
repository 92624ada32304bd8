import {
  Conv2DBackpropFilter,
  type Conv2DBackpropFilterAttrs,
  type Conv2DBackpropFilterInputs,
} from '@tensorflow/tfjs-core';
import { filterGradient2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const conv2DBackpropFilter = kernel<Conv2DBackpropFilterInputs, Conv2DBackpropFilterAttrs>(
  Conv2DBackpropFilter,
  ({ inputs, attrs, backend }) => filterGradient2D(backend, inputs.x, inputs.dy, attrs, false),
);
