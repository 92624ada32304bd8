import { Range, type RangeAttrs } from '@tensorflow/tfjs-core';
import { shared } from '@tensorflow/tfjs-backend-cpu';
import { kernel } from '../kernel.js';

/**
 * Made on the host: tfjs's ranges are short, and their rules (a step's sign mended, floats added up one by one, integers
 * cut at each step) are its own.
 */
export const range = kernel<object, RangeAttrs>(Range, ({ attrs: { start, stop, step, dtype }, backend }) => {
  const values = shared.rangeImpl(start, stop, step, dtype);
  const shape = [values.length];
  return { dataId: backend.write(values, shape, dtype), shape, dtype };
});
