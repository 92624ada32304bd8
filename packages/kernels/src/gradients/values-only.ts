import { backend, type Tensor } from '@tensorflow/tfjs-core';
import { AccBackend } from '../backend.js';
import type { TensorData } from '../tensor-data.js';
import { isStandIn } from './saved-shapes.js';

/**
 * Whether the values of `tensor` are all that a gradient may find in it: it is no stand-in, nothing is attached to its data,
 * and the data does not lie in pieces. A copy of the values then does as well.
 */
export function hasValuesOnly(tensor: Tensor): boolean {
  const current = backend();
  if (!(current instanceof AccBackend)) return true;
  if (isStandIn(tensor) || (tensor.dataId as Partial<TensorData>).inPieces) return false;
  return !current.hasAttached(tensor);
}
