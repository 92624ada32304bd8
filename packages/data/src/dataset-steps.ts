import { commonRows, splitRowsOf, sliceRows } from './cut-batch.js';
import type { OpenStep } from './deliver.js';
import { fillsLastStep, type Shard } from './options.js';
import { disposeTensors, holdBatch, rowsOf } from './structure.js';

/** The members of a tf.data iterator that are used. */
export interface BatchIterator<T> {
  next(): Promise<IteratorResult<T>>;
}

/**
 * Yields one rank's steps through a dataset of batches. Every rank reads all batches and disposes
 * those of other ranks. A value that comes together with `done: true` is a return value, not an
 * item, as in the iteration protocol.
 *
 * @param from The number of batches to read and skip.
 */
export function datasetSteps<T>(
  batches: BatchIterator<T>,
  shard: Shard,
  from: number,
): AsyncGenerator<OpenStep<T>, void, undefined> {
  return shard.splitBatches ? splitSteps(batches, shard, from) : wholeSteps(batches, shard, from);
}

/** Splits each batch among the ranks: one step for each batch. */
async function* splitSteps<T>(
  batches: BatchIterator<T>,
  shard: Shard,
  from: number,
): AsyncGenerator<OpenStep<T>, void, undefined> {
  const { rank, size } = shard;
  for (let end = 1; ; end++) {
    const item = await batches.next();
    if (item.done) return;
    if (end <= from) {
      disposeTensors(item.value);
      continue;
    }
    const own = takeShard(item.value, rank, size, fillsLastStep(shard));
    if (own) yield { ...own, end };
  }
}

function takeShard<T>(
  batch: T,
  rank: number,
  size: number,
  fills: boolean,
): Omit<OpenStep<T>, 'end'> | undefined {
  try {
    const batchRows = commonRows('dataset', batch);
    const { starts, rows, realRows } = splitRowsOf(batchRows, size, fills);
    if (rows[rank] === 0 && batchRows > 0) return undefined;
    return { batch: sliceRows(batch, starts[rank]!, rows[rank]!), counts: { rows, realRows } };
  } finally {
    disposeTensors(batch);
  }
}

/** Takes one batch for each rank in each step. */
async function* wholeSteps<T>(
  batches: BatchIterator<T>,
  shard: Shard,
  from: number,
): AsyncGenerator<OpenStep<T>, void, undefined> {
  const { rank, size } = shard;
  const fills = fillsLastStep(shard);
  // The batches of lower ranks in the first step. One of them may fill this rank's place in the
  // last step. They are kept without copying.
  const kept: T[] = [];
  let firstRows: number[] = [];
  let end = 0;
  try {
    for (let isFirst = true; ; isFirst = false) {
      const isSkipped = end < from;
      // If the number of ranks has changed, the skipped batches may end within a step.
      const slots = isSkipped ? Math.min(size, from - end) : size;
      const step = await readStep(batches, shard, { slots, keepsBefore: fills && isFirst });
      const real = step.rows.length;
      end += real;
      if (isFirst) {
        kept.push(...step.before);
        firstRows = step.rows;
      }
      if (isSkipped) disposeTensors(step.own);
      if (real === 0) return;
      if (isSkipped) continue;
      const missing = size - real;
      const counts = countsOf(step.rows, fills ? firstRows : [0], missing);
      const isReal = rank < real;
      if (isReal || fills) {
        const batch = isReal ? step.own : kept.splice((rank - real) % firstRows.length, 1)[0];
        yield { batch: batch!, counts, end };
      }
      if (missing > 0) return;
    }
  } finally {
    disposeTensors(kept);
  }
}

/**
 * The number of rows of each rank. The last `missing` ranks get, one after another, batches with
 * the row counts in `filling`.
 */
function countsOf(
  rows: readonly number[],
  filling: readonly number[],
  missing: number,
): OpenStep<unknown>['counts'] {
  const filled = Array.from({ length: missing }, (_, i) => filling[i % filling.length]!);
  return { rows: [...rows, ...filled], realRows: [...rows, ...Array<number>(missing).fill(0)] };
}

interface ReadStep<T> {
  /** The number of rows of each batch that was read. */
  readonly rows: number[];
  /** The batches of lower ranks. Empty if they are not kept. */
  readonly before: T[];
  own?: T;
}

async function readStep<T>(
  batches: BatchIterator<T>,
  { rank }: Shard,
  { slots, keepsBefore }: { readonly slots: number; readonly keepsBefore: boolean },
): Promise<ReadStep<T>> {
  const rows: number[] = [];
  const before: (() => T)[] = [];
  let own: (() => T) | undefined;
  const release = (): ReadStep<T> => ({
    rows,
    before: before.map((held) => held()),
    ...(own && { own: own() }),
  });
  try {
    for (let slot = 0; slot < slots; slot++) {
      const item = await batches.next();
      if (item.done) break;
      rows.push(rowsOf(item.value));
      if (slot === rank) own = holdBatch(item.value);
      else if (slot < rank && keepsBefore) before.push(holdBatch(item.value));
      else disposeTensors(item.value);
    }
  } catch (error) {
    const step = release();
    disposeTensors([step.own, step.before]);
    throw error;
  }
  return release();
}
