import { concat, reshape, split, tidy, transpose, unstack, type Tensor } from '@tensorflow/tfjs-core';
import { collectiveOnTape } from '@acc/collective';
import { isAccError, type Collective } from '@acc/contract';
import type { SequenceShards } from '../sequence-shards.js';
import { shardsDiffer } from '../errors.js';

/**
 * Exchanges shards of sequences, `[batch, heads, length, dim]`, for whole sequences of this rank's
 * share of the heads, `[batch, heads / n, n · length, dim]`, in one all-to-all. The gradient is the
 * exchange back. What is only needed on the way is freed at once. The caller disposes the results.
 */
export function toHeads(xs: readonly Tensor[], shards: SequenceShards): Tensor[] {
  const { size } = shards.ranks;
  const exchanged = tidy(() => {
    const rows = xs.map((x) => {
      const [batch, heads, length, dim] = x.shape as [number, number, number, number];
      const groups = reshape(x, [batch, size, heads / size, length, dim]);
      return reshape(transpose(groups, [1, 0, 2, 3, 4]), [size, -1]);
    });
    return withLengthsTold(xs, shards.ranks, () => allToAll(concat(rows, 1), shards));
  });
  const received = split(
    exchanged,
    xs.map((x) => x.size / size),
    1,
  );
  exchanged.dispose();
  return received.map((flat, i) => {
    const [batch, heads, length, dim] = xs[i]!.shape as [number, number, number, number];
    const full = tidy(() => joined(reshape(flat, [size, batch, heads / size, length, dim]), 2));
    flat.dispose();
    return full;
  });
}

/**
 * The parts of dim 0, one behind another along a dim of them. A reshape of a transposed tensor would
 * keep what it copied for as long as its result, which attention saves for backward.
 */
function joined(parts: Tensor, dim: number): Tensor {
  return concat(unstack(parts), dim);
}

/**
 * All ranks get a mismatch. If all of them were in this exchange, they tell their shapes.
 */
function withLengthsTold<T>(xs: readonly Tensor[], ranks: Collective, exchange: () => T): T {
  try {
    return exchange();
  } catch (error) {
    if (!isAccError(error, 'ACC_COLLECTIVE_MISMATCH')) throw error;
    const { calls = [] } = error.details as { readonly calls?: readonly string[] };
    if (!calls.every((call) => call.startsWith('allToAll('))) throw error;
    const shapes = ranks.allGatherObject(xs.map(({ shape }) => shape));
    const differing = xs.findIndex((_, i) =>
      shapes.some((each) => each[i]!.join() !== shapes[0]![i]!.join()),
    );
    throw differing < 0
      ? error
      : shardsDiffer(
          shapes.map((each) => each[differing]!),
          error,
        );
  }
}

/** The exchange back: from `[batch, heads / n, n · length, dim]` to `[batch, heads, length, dim]`. */
export function toShards(x: Tensor, shards: SequenceShards): Tensor {
  const { size } = shards.ranks;
  const [batch, local, whole, dim] = x.shape as [number, number, number, number];
  const parts = transpose(reshape(x, [batch, local, size, whole / size, dim]), [2, 0, 1, 3, 4]);
  return reshape(transpose(allToAll(parts, shards), [1, 0, 2, 3, 4]), [
    batch,
    size * local,
    whole / size,
    dim,
  ]);
}

/** Row r goes to rank r. The exchange is its own gradient. */
function allToAll(x: Tensor, { ranks, kernels }: SequenceShards): Tensor {
  const run = (local: Tensor) => ranks.allToAll(local);
  return collectiveOnTape(x, { run, gradient: run }, kernels);
}
