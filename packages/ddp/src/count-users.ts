import { tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective, AllReduceOptions } from '@acc/contract';

/**
 * The number of ranks that have a gradient of each variable, float32 `[variables]`. Every rank calls
 * it with a list of the same length. The caller disposes the result.
 *
 * @param own Whether this rank has a gradient of each variable.
 */
export function countUsers(
  local: readonly boolean[],
  collective: Collective,
  options: Pick<AllReduceOptions, 'agreed'> = {},
): Tensor {
  return collective.allReduce(tensor1d(local.map(Number)), 'sum', { ...options, donate: true });
}
