import {
  add,
  all,
  isFinite,
  reshape,
  scalar,
  split,
  sqrt,
  square,
  stack,
  tidy,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { GradientLists } from './placer.js';

/**
 * The Euclidean norm of gradients that lie on ranks in different ways. Every rank calls it.
 *
 * @param norms For each subset of `axes`, as bits of its index, the norm of this rank's elements of the
 * gradients that these axes distribute. A scalar each. The caller keeps them.
 * @param axes The ranks along each axis.
 * @returns A scalar, the same on every rank. The caller disposes it.
 */
export function normOver(
  norms: readonly Tensor[],
  axes: readonly Pick<Collective, 'size' | 'allReduce'>[],
): Tensor {
  return tidy(() => {
    let squares = square(stack([...norms]));
    for (const ranks of [...axes].reverse()) {
      const [replicated, distributed] = split(squares, 2) as [Tensor, Tensor];
      const sums = ranks.size === 1 ? distributed : ranks.allReduce(distributed, 'sum');
      squares = add(replicated, sums);
    }
    return sqrt(reshape(squares, []));
  });
}

/** Whether this rank's elements are finite. */
export function areFinite(grads: readonly Tensor[], lists: Pick<GradientLists, 'norm' | 'every'>): boolean {
  return tidy(() => {
    const filled = grads.filter(({ size }) => size > 0);
    // A norm is finite if all elements are, unless their squares are too large.
    if (filled.length === 0 || Number.isFinite(lists.norm(filled).dataSync()[0])) return true;
    return lists.every(filled, (grad) => all(isFinite(grad)).dataSync()[0] === 1);
  });
}

/** Whether `isTrue` on every rank. Every rank calls it. */
export function onEveryRank(isTrue: boolean, ranks: Collective): boolean {
  return tidy(() => ranks.allReduce(scalar(Number(isTrue)), 'min').dataSync()[0] === 1);
}
