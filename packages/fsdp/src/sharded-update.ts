import { gather, reshape, scatterND, tensor1d, where, zeros } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { ShardedUpdate, SumSquares } from '@acc/kernels';
import type { Shard } from './shard.js';

/**
 * An update of shards, the same on every rank.
 *
 * @param distributed The sharded variables, by name, the same on every rank.
 * @param sharing The ranks that share units.
 */
export function shardedUpdateOf(distributed: ReadonlyMap<string, Shard>, sharing: Collective): ShardedUpdate {
  return {
    sumSquares: sumSquaresOver([...distributed.keys()], sharing),
    shardOf(name) {
      const shard = distributed.get(name);
      return shard && { shape: shard.full.shape, begin: shard.placement.begin, end: shard.placement.end };
    },
    sum: (own) => sharing.allReduce(own, 'sum'),
  };
}

/**
 * Sums of squares over the ranks that share units.
 *
 * @param sharded The names of the sharded variables of an update, the same on every rank.
 */
function sumSquaresOver(sharded: readonly string[], sharing: Collective): SumSquares {
  const places = new Map(sharded.map((name, place) => [name, place]));
  return (squares, names) => {
    const [kinds, count] = squares.shape as [number, number];
    // The last place is for variables that are not sharded. Nobody reads it.
    const length = sharded.length + 1;
    const own = names.map((name) => places.get(name) ?? sharded.length);
    const indices = Array.from({ length: kinds }, (_, kind) => own.map((place) => kind * length + place));
    const flat = tensor1d(indices.flat(), 'int32');
    const placed =
      count === 0
        ? zeros([kinds * length])
        : scatterND(reshape(flat, [-1, 1]), reshape(squares, [-1]), [kinds * length]);
    const sums = sharing.allReduce(placed, 'sum');
    if (count === 0) return zeros([kinds, 0]);
    const isSharded = tensor1d(
      names.map((name) => places.has(name)),
      'bool',
    );
    return where(isSharded, reshape(gather(sums, flat), [kinds, count]), squares);
  };
}
