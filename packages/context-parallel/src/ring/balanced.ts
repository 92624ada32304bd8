import { concat, reshape, split, tidy, transpose, type Tensor } from '@tensorflow/tfjs-core';
import { collectiveOnTape } from '@acc/collective';
import type { SequenceShards } from '../sequence-shards.js';
import { compareShapes } from './compare-shapes.js';
import { collectHalves, spreadHalves } from './halves.js';

/**
 * Exchanges tensors of this rank's shard, `[batch, heads, length, dim]`, for those of the two halves
 * of shards with which all ranks have equal work in causal attention, runs `attend` on them, and
 * exchanges the result back. The caller disposes it.
 *
 * @throws AccError `ACC_CONTEXT_LENGTH` on every rank if their shapes differ.
 */
export function onBalancedHalves(
  qkv: readonly Tensor[],
  { ranks, kernels }: SequenceShards,
  attend: (...qkv: Tensor[]) => Tensor,
): Tensor {
  const spread = (x: Tensor) => spreadHalves(x, ranks);
  const spreadCompared = (x: Tensor) => {
    compareShapes(qkv, ranks);
    return spread(x);
  };
  const collect = (x: Tensor) => collectHalves(x, ranks);
  return tidy(() => {
    const halves = moved(qkv, (x) =>
      collectiveOnTape(x, { run: spreadCompared, gradient: collect }, kernels),
    );
    const output = attend(...halves);
    const [shard] = moved([output], (x) => collectiveOnTape(x, { run: collect, gradient: spread }, kernels));
    return shard!;
  });
}

/** Moves positions of all tensors in one exchange of rows. */
function moved(xs: readonly Tensor[], exchange: (x: Tensor) => Tensor): Tensor[] {
  const length = xs[0]!.shape[2]!;
  const exchanged = tidy(() =>
    exchange(
      concat(
        xs.map((x) => reshape(transpose(x, [2, 0, 1, 3]), [length, -1])),
        1,
      ),
    ),
  );
  return columnsOf(
    exchanged,
    xs.map((x) => x.size / length),
  ).map((local, i) => {
    const [batch, heads, , dim] = xs[i]!.shape as [number, number, number, number];
    return transpose(reshape(local, [length, batch, heads, dim]), [1, 2, 0, 3]);
  });
}

/** Disposes `x`. */
function columnsOf(x: Tensor, widths: readonly number[]): Tensor[] {
  // tfjs has no gradient of a split into one part.
  if (widths.length === 1) return [x];
  const columns = split(x, [...widths], 1);
  x.dispose();
  return columns;
}
