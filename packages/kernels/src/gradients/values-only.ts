import type { Tensor } from '@tensorflow/tfjs-core';
import { activeAcc } from '#platform/active-acc';
import type { TensorData } from '../tensor-data.js';
import { isStandIn } from './saved-shapes.js';

/**
 * Whether a gradient can read only values from `tensor`: it is not a stand-in, its data has no
 * attached tensors, and the data is not stored in shards. A copy of the values can then replace it.
 */
export function hasValuesOnly(tensor: Tensor): boolean {
  const acc = activeAcc();
  if (!acc) return true;
  if (isStandIn(tensor) || (tensor.dataId as Partial<TensorData>).inShards) return false;
  return !acc.hasAttached(tensor);
}
