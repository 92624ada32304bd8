import { Range, type RangeAttrs } from '@tensorflow/tfjs-core';
import { shared } from '@tensorflow/tfjs-backend-cpu';
import { kernel } from '../kernel.js';

/**
 * Computed on the host: tfjs's ranges are short and follow tfjs's own rules. It corrects the sign
 * of a step, adds up floats one by one, and cuts integers at each step.
 */
export const range = kernel<object, RangeAttrs>(Range, ({ attrs: { start, stop, step, dtype }, backend }) => {
  const values = shared.rangeImpl(start, stop, step, dtype);
  const shape = [values.length];
  return { dataId: backend.write(values, shape, dtype), shape, dtype };
});
