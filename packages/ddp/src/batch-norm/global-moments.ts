import {
  add,
  concat,
  div,
  maximum,
  mul,
  reshape,
  scalar,
  slice,
  square,
  sub,
  sum,
  zeros,
  type Tensor,
} from '@tensorflow/tfjs-core';

export interface GlobalMoments {
  /** The mean, of shape [channels]. */
  readonly mean: Tensor;
  /** The biased variance, of shape [channels]. */
  readonly variance: Tensor;
  /** The number of values per channel on all ranks, a scalar. */
  readonly count: Tensor;
}

/**
 * The mean and variance over the values of all ranks, from those of each rank by the formula of
 * Chan et al., "Updating Formulae and a Pairwise Algorithm for Computing Sample Variances", 1979.
 * Uses one collective. Call it in a tidy.
 *
 * @param x The samples of this rank. It may have none.
 * @param axis The dim of the channels, from 0.
 * @param gatherRows Returns the rows of all ranks, stacked.
 */
export function globalMoments(x: Tensor, axis: number, gatherRows: (row: Tensor) => Tensor): GlobalMoments {
  const channels = x.shape[axis]!;
  const countLocal = x.size / channels;
  const { mean, squares } = countLocal > 0 ? localMoments(x, axis) : noMoments(channels);
  const local = concat([reshape(scalar(countLocal), [1]), mean, squares]);
  const all = gatherRows(reshape(local, [1, -1]));
  const counts = slice(all, [0, 0], [-1, 1]);
  const means = slice(all, [0, 1], [-1, channels]);
  const squaresOfRanks = slice(all, [0, 1 + channels], [-1, channels]);
  // The mean of a batch without samples is 0, not NaN.
  const count = maximum(sum(counts), 1);
  const meanOfAll = div(sum(mul(counts, means), 0), count);
  const between = mul(counts, square(sub(means, meanOfAll)));
  const variance = div(sum(add(squaresOfRanks, between), 0), count);
  return { mean: meanOfAll, variance, count };
}

/**
 * Computes the same moments with two sums over ranks. All ranks must have the same number of
 * samples. If these sums do not depend on the number of ranks, the moments do not either.
 *
 * @param sumOverRanks Sums values by channel over ranks.
 */
export function summedMoments(
  x: Tensor,
  axis: number,
  { ranks, sumOverRanks }: { readonly ranks: number; readonly sumOverRanks: (local: Tensor) => Tensor },
): GlobalMoments {
  const others = otherDims(x, axis);
  const count = scalar((ranks * x.size) / x.shape[axis]!);
  const mean = div(sumOverRanks(sum(x, others)), count);
  const squares = sum(square(sub(x, broadcastable(mean, x, axis))), others);
  return { mean, variance: div(sumOverRanks(squares), count), count };
}

/** The mean by channel, and the sum of squared distances from it. */
function localMoments(x: Tensor, axis: number): { mean: Tensor; squares: Tensor } {
  const others = otherDims(x, axis);
  const count = x.size / x.shape[axis]!;
  const mean = div(sum(x, others), count);
  const squares = sum(square(sub(x, broadcastable(mean, x, axis))), others);
  return { mean, squares };
}

function noMoments(channels: number): { mean: Tensor; squares: Tensor } {
  return { mean: zeros([channels]), squares: zeros([channels]) };
}

export function otherDims(x: Tensor, axis: number): number[] {
  return x.shape.flatMap((_, dim) => (dim === axis ? [] : [dim]));
}

/** Reshapes values by channel so that they broadcast against `x`. */
export function broadcastable(values: Tensor, x: Tensor, axis: number): Tensor {
  return reshape(
    values,
    x.shape.map((length, dim) => (dim === axis ? length : 1)),
  );
}
