import { finallyAfter, type BatchRows } from '@acc/contract';

export type { BatchRows } from '@acc/contract';

/** Each rank's share of the real samples; the shares sum to 1. */
export function sampleShares({ realRows }: BatchRows): number[] {
  const total = realRows.reduce((sum, rows) => sum + rows, 0);
  return realRows.map((rows) => (total === 0 ? 1 / realRows.length : rows / total));
}

/**
 * Runs `fn` with `rows` as the current batch. Restores the previous batch afterwards; if `fn`
 * returns a promise, after it has settled.
 */
export function onRows<T>(trainingStep: { batch: BatchRows | undefined }, rows: BatchRows, fn: () => T): T {
  const { batch } = trainingStep;
  trainingStep.batch = rows;
  return finallyAfter(fn, () => (trainingStep.batch = batch));
}

/** The ranks of a backward pass. */
export interface PassRanks {
  /** The rank of this process. */
  readonly rank: number;
  readonly countRanks: () => number;
  /** The number of ranks that share each row, with a shard of equal length each. */
  readonly shards: number;
}

/**
 * The items of a loss that is weighted by its rows: of this rank, and of all. Ranks have equal ones if
 * rows are not counted, or if there are none.
 */
export function rowCountsOf(
  batch: BatchRows | undefined,
  { rank, countRanks, shards }: PassRanks,
): { readonly own: number; readonly all: number } {
  const samples = samplesOf(batch);
  return samples ? { own: batch!.realRows[rank]!, all: samples * shards } : { own: 1, all: countRanks() };
}

/** The number of real samples on all ranks. Undefined if there is no batch of prepared data. */
export function samplesOf(batch: BatchRows | undefined): number | undefined {
  return batch?.realRows.reduce((sum, rows) => sum + rows, 0);
}
