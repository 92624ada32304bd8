import { finallyAfter, type BatchRows } from '@acc/contract';

export type { BatchRows } from '@acc/contract';

/** Each rank's share of the real samples; the shares sum to 1. */
export function sampleShares({ realRows }: BatchRows): number[] {
  const total = realRows.reduce((sum, rows) => sum + rows, 0);
  return realRows.map((rows) => (total === 0 ? 1 / realRows.length : rows / total));
}

/** Runs `fn`, to the end of its promise where it returns one, on `rows` in the place of the batch that prepared data gave last. */
export function onRows<T>(pipeline: { batch: BatchRows | undefined }, rows: BatchRows, fn: () => T): T {
  const { batch } = pipeline;
  pipeline.batch = rows;
  return finallyAfter(fn, () => (pipeline.batch = batch));
}

/** The real samples of all ranks; undefined for a batch that nobody has counted. */
export function samplesOf(batch: BatchRows | undefined): number | undefined {
  return batch?.realRows.reduce((sum, rows) => sum + rows, 0);
}
