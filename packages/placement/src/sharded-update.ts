import { gather, reshape, scatterND, tensor1d, where, zeros } from '@tensorflow/tfjs-core';
import { AccError, type Collective } from '@acc/contract';
import type { ShardedUpdate, SumSquares } from '@acc/kernels';
import type { DistributedVariable } from './distributed-variable.js';

/**
 * An update of variables that the ranks along an axis share by elements, the same on every rank.
 *
 * @param distributed By name.
 * @param ranks The ranks along the axis.
 */
export function shardedUpdateOf(
  distributed: ReadonlyMap<string, DistributedVariable>,
  ranks: Collective,
): ShardedUpdate {
  return {
    sumSquares: sumSquaresOver([...distributed.keys()], ranks),
    shardOf(name) {
      const variable = distributed.get(name);
      if (!variable) return undefined;
      const { placement, full } = variable;
      if (placement.kind !== 'flat') throw needsRange(name);
      return { shape: full.shape, begin: placement.begin, end: placement.end };
    },
    sum: (local) => ranks.allReduce(local, 'sum'),
  };
}

function needsRange(name: string): AccError {
  return new AccError(
    'ACC_STRATEGY_CANNOT',
    `The optimizer needs means over rows and columns of '${name}', of which ranks have rows or columns.`,
    { help: 'Use adamw, lamb, lion, sgdw or an optimizer of tfjs.', details: { name } },
  );
}

/**
 * Sums of squares over the ranks that share variables.
 *
 * @param sharded The names of the sharded variables of an update, the same on every rank.
 */
function sumSquaresOver(sharded: readonly string[], ranks: Collective): SumSquares {
  const places = new Map(sharded.map((name, place) => [name, place]));
  return (squares, names) => {
    const [kinds, count] = squares.shape as [number, number];
    // The last place is for variables that are not sharded. Nobody reads it.
    const length = sharded.length + 1;
    const local = names.map((name) => places.get(name) ?? sharded.length);
    const indices = Array.from({ length: kinds }, (_, kind) => local.map((place) => kind * length + place));
    const flat = tensor1d(indices.flat(), 'int32');
    const placed =
      count === 0
        ? zeros([kinds * length])
        : scatterND(reshape(flat, [-1, 1]), reshape(squares, [-1]), [kinds * length]);
    const sums = ranks.allReduce(placed, 'sum');
    if (count === 0) return zeros([kinds, 0]);
    const isSharded = tensor1d(
      names.map((name) => places.has(name)),
      'bool',
    );
    return where(isSharded, reshape(gather(sums, flat), [kinds, count]), squares);
  };
}
