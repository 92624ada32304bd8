import { where, tidy, tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { ShardedUpdate } from '@acc/kernels';
import type { CutVariable } from './cut-variable.js';
import { needsRange } from './errors.js';

/**
 * An update of this rank's pieces, for optimizers that sum over whole weights.
 *
 * @param cuts By name.
 */
export function updateOfPieces(cuts: ReadonlyMap<string, CutVariable>, ranks: Collective): ShardedUpdate {
  return {
    sumSquares: (squares, names) =>
      tidy(() => {
        const sums = ranks.allReduce(squares, 'sum') as Tensor;
        const isCut = tensor1d(
          names.map((name) => cuts.has(name)),
          'bool',
        );
        return names.length === 0 ? sums : where(isCut, sums, squares);
      }),
    shardOf(name) {
      if (cuts.has(name)) throw needsRange(name);
      return undefined;
    },
    sum: (own) => ranks.allReduce(own, 'sum'),
  };
}
