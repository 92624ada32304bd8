import { Cast, type CastAttrs, type CastInputs } from '@tensorflow/tfjs-core';
import { toElements } from '../families/conversion.js';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

/**
 * Returns the same data if `x` already has the dtype; else converts as JavaScript's typed arrays
 * do.
 */
export const cast = kernel<CastInputs, CastAttrs>(Cast, ({ inputs: { x }, attrs: { dtype }, backend }) =>
  x.dtype === dtype ? sameData(backend, x) : backend.wrap(toElements(backend.native(x), dtype), dtype),
);
