import { LeakyRelu, type LeakyReluAttrs, type LeakyReluInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { applyUnary, FLOATS } from '../families/elementwise.js';
import { kernel } from '../kernel.js';

const leaky = operator('aten::leaky_relu');

/** The result is float32 for every dtype of the input. */
export const leakyRelu = kernel<LeakyReluInputs, LeakyReluAttrs>(
  LeakyRelu,
  ({ inputs: { x }, attrs: { alpha }, backend }) =>
    applyUnary(backend, x, (native) => leaky(native, alpha), FLOATS, 'float32'),
);
