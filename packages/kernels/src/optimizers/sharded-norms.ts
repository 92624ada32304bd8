import { sqrt, square, tidy, type Tensor } from '@tensorflow/tfjs-core';

/**
 * Adds up over ranks the sums of squares of tensors of which each rank holds a shard. Every rank
 * calls it equally often.
 *
 * @param squares `[k, names.length]`: for each name, `k` sums of squares of this rank's elements.
 * @param names The variables that have elements on this rank, and those that are not sharded.
 * @returns The sums over all ranks, in the shape of `squares`. Those of variables that are not
 * sharded are unchanged. The caller disposes it.
 */
export type SumSquares = (squares: Tensor, names: readonly string[]) => Tensor;

let active: SumSquares | undefined;

/** Runs an update in which the norms of {@link wholeNorms} are those over all ranks. */
export function withShardedNorms(sumSquares: SumSquares, update: () => void): void {
  const before = active;
  active = sumSquares;
  try {
    update();
  } finally {
    active = before;
  }
}

/** Whether ranks hold shards in the update that runs. */
export function hasShardedNorms(): boolean {
  return active !== undefined;
}

/**
 * Norms of whole tensors from those of this rank's elements. If ranks hold shards, every rank calls
 * it equally often, also one without elements.
 *
 * @param norms `[k, names.length]`.
 */
export function wholeNorms(norms: Tensor, names: readonly string[]): Tensor {
  const sumSquares = active;
  return sumSquares ? tidy(() => sqrt(sumSquares(square(norms), names))) : norms.clone();
}
