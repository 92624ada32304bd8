import { Conv2D, type Conv2DAttrs, type Conv2DInputs } from '@tensorflow/tfjs-core';
import { forward2D } from '../families/conv2d.js';
import { kernel } from '../kernel.js';

export const conv2D = kernel<Conv2DInputs, Conv2DAttrs>(Conv2D, ({ inputs, attrs, backend }) =>
  forward2D(backend, inputs, attrs, false),
);
