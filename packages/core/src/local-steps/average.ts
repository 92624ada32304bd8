import { concat, reshape, split, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/**
 * The mean over ranks of each tensor, in one collective for all. The results are float32. The
 * caller disposes them.
 */
export function averageTensors(tensors: readonly Tensor[], collective: Collective): Tensor[] {
  if (tensors.length === 0) return [];
  return tidy(() => {
    const flat = concat(tensors.map((x) => reshape(x, [-1])));
    const mean = collective.allReduce(flat, 'mean');
    const parts = split(
      mean,
      tensors.map(({ size }) => size),
    );
    return parts.map((part, i) => reshape(part, tensors[i]!.shape));
  });
}
