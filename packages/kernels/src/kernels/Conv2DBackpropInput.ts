import {
  Conv2DBackpropInput,
  type Conv2DBackpropInputAttrs,
  type Conv2DBackpropInputInputs,
} from '@tensorflow/tfjs-core';
import { inputGradient2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const conv2DBackpropInput = kernel<Conv2DBackpropInputInputs, Conv2DBackpropInputAttrs>(
  Conv2DBackpropInput,
  ({ inputs, attrs, backend }) => inputGradient2D(backend, inputs.dy, inputs.filter, attrs, false),
);
