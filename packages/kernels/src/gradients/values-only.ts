import type { Tensor } from '@tensorflow/tfjs-core';
import { activeAcc } from '../acc-layer/active-acc.js';
import type { TensorData } from '../tensor-data.js';
import { isStandIn } from './saved-shapes.js';

/**
 * Whether the values of `tensor` are all that a gradient may find in it: it is no stand-in, nothing is attached to its data,
 * and the data does not lie in pieces. A copy of the values then does as well.
 */
export function hasValuesOnly(tensor: Tensor): boolean {
  const acc = activeAcc();
  if (!acc) return true;
  if (isStandIn(tensor) || (tensor.dataId as Partial<TensorData>).inPieces) return false;
  return !acc.hasAttached(tensor);
}
