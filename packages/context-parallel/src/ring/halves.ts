import { concat, slice, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

// Half k of a sequence over n ranks is the first or the second half of shard floor(k / 2). Balanced
// rank r has the halves r and 2n - 1 - r: the sum of their positions, and so the work of causal
// attention, is the same on all ranks (Dubey et al., "The Llama 3 Herd of Models", 2024, 3.3.2).

/** The length of a half of shards of `length`: the first half has the odd position. */
export const lengthOfHalf = (half: number, length: number): number =>
  half % 2 === 0 ? Math.ceil(length / 2) : Math.floor(length / 2);

/** The rank that has a half when ranks are balanced. */
const holderOf = (half: number, size: number): number => (half < size ? half : 2 * size - 1 - half);

const pieceOf = (half: number): number => Math.floor(half / 2);

const halvesOfShard = (rank: number) => [2 * rank, 2 * rank + 1] as const;

const halvesOfHolder = (rank: number, size: number) => [rank, 2 * size - 1 - rank] as const;

/**
 * Gives each rank its two halves in place of its shard.
 *
 * @param x `[length, width]` of this rank's shard. @returns The same shape. The caller disposes it.
 */
export function spreadHalves(x: Tensor, ranks: Collective): Tensor {
  const { rank, size } = ranks;
  const [length] = x.shape as [number];
  const halves = halvesOfShard(rank);
  const rows = rowsFor(halves, (half) => holderOf(half, size), { length, size });
  return tidy(() =>
    ranks.allToAll(isTurned(rank, size) ? turned(x, lengthOfHalf(halves[0], length)) : x, rows),
  );
}

/** The inverse of {@link spreadHalves}. */
export function collectHalves(x: Tensor, ranks: Collective): Tensor {
  const { rank, size } = ranks;
  const [length] = x.shape as [number];
  const rows = rowsFor(halvesOfHolder(rank, size), pieceOf, { length, size });
  return tidy(() => {
    const shard = ranks.allToAll(x, rows);
    return isTurned(rank, size) ? turned(shard, lengthOfHalf(halvesOfShard(rank)[1], length)) : shard;
  });
}

/** Whether the first half of a shard goes to a later rank than the second. */
function isTurned(rank: number, size: number): boolean {
  const [first, second] = halvesOfShard(rank).map((half) => holderOf(half, size)) as [number, number];
  return first > second;
}

function rowsFor(
  halves: readonly number[],
  rankOf: (half: number) => number,
  { length, size }: { readonly length: number; readonly size: number },
): number[] {
  const rows = new Array<number>(size).fill(0);
  for (const half of halves) rows[rankOf(half)]! += lengthOfHalf(half, length);
  return rows;
}

/** The rows from `first` on, and then those before. */
function turned(x: Tensor, first: number): Tensor {
  return concat([slice(x, first), slice(x, 0, first)]);
}
