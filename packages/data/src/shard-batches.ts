import type { Step } from './batch-counts.js';
import { commonRows, splitRowsOf, sliceRows } from './cut-batch.js';
import { deliver } from './deliver.js';
import { fillsLastStep, resolveShard, type Shard, type ShardOptions } from './options.js';
import { needsAwait } from './needs-await.js';
import { Progress, type DataPosition } from './progress.js';
import { requireCount } from './require-count.js';
import { cloneTensors, rowsOf } from './structure.js';

/** One rank's share of a list of batches. */
export interface ShardedBatches<T> extends AsyncIterable<T> {
  /** The number of batches of this rank in an epoch. */
  readonly length: number;
  /** Returns a share that skips the first `batches` batches of this rank in each iteration. */
  skipFirst(batches: number): ShardedBatches<T>;
  /** The current position as plain values, for a checkpoint. */
  getState(): DataPosition;
  /** Resumes at a position. The number of ranks may differ. */
  setState(state: DataPosition): void;
}

/**
 * Takes one rank's share of a list of batches. Each batch is a (nested) record or array of tensors
 * with the samples along dim 0. The caller owns the list and its tensors. The share yields clones
 * or slices, which the reader owns.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. Iterating throws `ACC_DATA_SPLIT`,
 * `ACC_DATA_ROWS_DIFFER`.
 */
export function shardBatches<T>(list: readonly T[], options: ShardOptions): ShardedBatches<T> {
  return shardOfList(list, resolveShard('shardBatches', options), new Progress(), 0);
}

function shardOfList<T>(
  list: readonly T[],
  shard: Shard,
  progress: Progress,
  skipped: number,
): ShardedBatches<T> {
  const plan = (from: number) =>
    shard.splitBatches ? planSplit(list, shard, from) : planWhole(list, shard, from);
  const ofStep = shard.splitBatches ? 1 : shard.size;
  return needsAwait({
    get length() {
      return plan(skipped * ofStep).length;
    },
    skipFirst(batches) {
      requireCount('skipFirst', batches);
      return shardOfList(list, shard, progress, batches);
    },
    getState: () => progress.getState(),
    setState: (state) => progress.setState(state),
    async *[Symbol.asyncIterator]() {
      const iteration = progress.begin();
      const from = skipped > 0 ? skipped * ofStep : iteration.from;
      yield* deliver(listSteps(list, plan(from)), shard, iteration);
    },
  });
}

interface PlannedStep {
  readonly index: number;
  /** The rows of the batch to take. Absent: all rows. */
  readonly range?: { readonly start: number; readonly count: number };
  readonly rows: readonly number[];
  readonly realRows: readonly number[];
  /** The number of batches of the list that are consumed after this step. */
  readonly end: number;
}

async function* listSteps<T>(list: readonly T[], steps: readonly PlannedStep[]): AsyncGenerator<Step<T>> {
  for (const [i, { index, range, rows, realRows, end }] of steps.entries()) {
    const full = list[index]!;
    const batch = range ? sliceRows(full, range.start, range.count) : cloneTensors(full);
    yield { batch, counts: { rows, realRows, isLast: i === steps.length - 1 }, end };
  }
}

/** Takes one batch for each rank in each step. */
function planWhole(list: readonly unknown[], shard: Shard, from: number): PlannedStep[] {
  const { rank, size } = shard;
  const fills = fillsLastStep(shard);
  const steps: PlannedStep[] = [];
  for (let first = from; first < list.length; first += size) {
    const realRows = Array.from({ length: size }, (_, r) =>
      first + r < list.length ? rowsOf(list[first + r]) : 0,
    );
    const rows = realRows.map((count, r) =>
      fills && first + r >= list.length ? rowsOf(list[(first + r) % list.length]) : count,
    );
    const isOurs = fills || first + rank < list.length;
    const end = Math.min(first + size, list.length);
    if (isOurs) steps.push({ index: (first + rank) % list.length, rows, realRows, end });
  }
  return steps;
}

/** Splits each batch among the ranks: one step for each batch. */
function planSplit(list: readonly unknown[], shard: Shard, from: number): PlannedStep[] {
  const { rank, size } = shard;
  const steps: PlannedStep[] = [];
  for (const [index, batch] of list.entries()) {
    const batchRows = commonRows('list of batches', batch);
    const { starts, rows, realRows } = splitRowsOf(batchRows, size, fillsLastStep(shard));
    if (index < from || (rows[rank] === 0 && batchRows > 0)) continue;
    const range = { start: starts[rank]!, count: rows[rank]! };
    steps.push({ index, range, rows, realRows, end: index + 1 });
  }
  return steps;
}
