import { commonRows, cutRowsOf, sliceRows } from './cut-batch.js';
import type { OpenStep } from './deliver.js';
import { fillsLastStep, type Shard } from './options.js';
import { disposeTensors, holdBatch, rowsOf } from './structure.js';

/** What is read of a tf.data iterator. */
export interface BatchIterator<T> {
  next(): Promise<IteratorResult<T>>;
}

/**
 * One rank's steps through a dataset of batches, where every rank reads all of them and disposes what isn't its own.
 * By the protocol, a value that comes with `done` is a result and no item.
 *
 * @param from How many batches are read and passed over.
 */
export function datasetSteps<T>(
  batches: BatchIterator<T>,
  shard: Shard,
  from: number,
): AsyncGenerator<OpenStep<T>, void, undefined> {
  return shard.splitBatches ? partSteps(batches, shard, from) : wholeSteps(batches, shard, from);
}

/** Each batch is cut: a step for each. */
async function* partSteps<T>(
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
    const part = takePart(item.value, rank, size, fillsLastStep(shard));
    if (part) yield { ...part, end };
  }
}

function takePart<T>(
  batch: T,
  rank: number,
  size: number,
  fills: boolean,
): Omit<OpenStep<T>, 'end'> | undefined {
  try {
    const batchRows = commonRows('dataset', batch);
    const { starts, rows, realRows } = cutRowsOf(batchRows, size, fills);
    if (rows[rank] === 0 && batchRows > 0) return undefined;
    return { batch: sliceRows(batch, starts[rank]!, rows[rank]!), counts: { rows, realRows } };
  } finally {
    disposeTensors(batch);
  }
}

/** Each step takes as many batches as there are ranks. */
async function* wholeSteps<T>(
  batches: BatchIterator<T>,
  shard: Shard,
  from: number,
): AsyncGenerator<OpenStep<T>, void, undefined> {
  const { rank, size } = shard;
  const fills = fillsLastStep(shard);
  // What fills this rank's place in the last step is one of the batches before its own in the first: kept, not copied.
  const kept: T[] = [];
  let firstRows: number[] = [];
  let end = 0;
  try {
    for (let isFirst = true; ; isFirst = false) {
      const isSkipped = end < from;
      // On another number of ranks, what is to be passed over may end within a step.
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
      const realRows = [...step.rows, ...Array<number>(missing).fill(0)];
      const filling = Array.from({ length: missing }, (_, i) =>
        fills ? firstRows[i % firstRows.length]! : 0,
      );
      const counts = { rows: [...step.rows, ...filling], realRows };
      if (rank < real) {
        yield { batch: step.own!, counts, end };
      } else if (fills) {
        const [batch] = kept.splice((rank - real) % firstRows.length, 1);
        yield { batch: batch!, counts, end };
      }
      if (missing > 0) return;
    }
  } finally {
    disposeTensors(kept);
  }
}

interface ReadStep<T> {
  /** Rows of each batch that there was. */
  readonly rows: number[];
  /** The batches of lower ranks, where they are kept. */
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
