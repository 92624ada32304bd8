import { zerosLike, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/**
 * Gives all ranks along the axis `tensor` the first one's gradients of whole variables. A reduction that
 * mixes gradients may have used those of shards, which differ between these ranks. Takes `grads` over.
 */
export function ofFirstRank(
  grads: readonly (Tensor | null)[],
  isWhole: (index: number) => boolean,
  tensor: Collective,
): (Tensor | null)[] {
  const places = grads.flatMap((grad, i) => (grad && isWhole(i) ? [i] : []));
  if (places.length === 0) return [...grads];
  const local = places.map((i) => grads[i]!);
  const terms = tensor.rank === 0 ? local : local.map((grad) => zerosLike(grad));
  if (tensor.rank > 0) for (const grad of local) grad.dispose();
  const results = [...grads];
  tensor.allReduceCoalesced(terms, 'sum', { donate: true }).forEach((sum, k) => (results[places[k]!] = sum));
  return results;
}
