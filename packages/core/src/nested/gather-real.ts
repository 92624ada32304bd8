import { concat, slice, tidy, type Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import type { BatchRows } from '../step/batch-rows.js';

/**
 * Gathers `x` over ranks and leaves out the rows that only filled the last step. Where `x` has not one row for each row of
 * the batch (a loss, say), all of it counts.
 */
export function gatherReal(x: Tensor, batch: BatchRows | undefined, collective: Collective): Tensor {
  const all = collective.allGather(x);
  if (!batch || !hasBatchRows(x, batch, collective.rank) || !isFilled(batch)) return all;
  const real = tidy(() => {
    let start = 0;
    const parts = batch.rows.map((rows, rank) => {
      const part = slice(all, start, batch.realRows[rank]!);
      start += rows;
      return part;
    });
    return concat(parts);
  });
  all.dispose();
  return real;
}

function hasBatchRows(x: Tensor, { rows }: BatchRows, rank: number): boolean {
  return x.rank > 0 && x.shape[0] === rows[rank];
}

function isFilled({ rows, realRows }: BatchRows): boolean {
  return rows.some((count, rank) => count !== realRows[rank]);
}
