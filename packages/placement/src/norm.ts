import {
  add,
  all,
  cast,
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

/**
 * Whether the elements of all ranks are finite. Every rank calls it. Reads one value, and a second one if
 * the first does not show that they are: a device computes on while the host goes on.
 */
export function areFinite(
  grads: readonly Tensor[],
  lists: Pick<GradientLists, 'norm' | 'every'>,
  ranks: Collective,
): boolean {
  const filled = grads.filter(({ size }) => size > 0);
  // A norm is finite if all elements are, unless their squares are too large.
  const haveNorms = tidy(() => {
    const hasNorm = filled.length === 0 ? scalar(1) : cast(isFinite(lists.norm(filled)), 'float32');
    return ranks.allReduce(hasNorm, 'min').dataSync()[0] === 1;
  });
  if (haveNorms) return true;
  return onEveryRank(
    lists.every(filled, (grad) => tidy(() => all(isFinite(grad)).dataSync()[0] === 1)),
    ranks,
  );
}

/** Whether `isTrue` on every rank. Every rank calls it. */
export function onEveryRank(isTrue: boolean, ranks: Collective): boolean {
  return tidy(() => ranks.allReduce(scalar(Number(isTrue)), 'min').dataSync()[0] === 1);
}
