import type { Step } from './batch-counts.js';
import { commonRows, cutRowsOf, sliceRows } from './cut-batch.js';
import { deliver } from './deliver.js';
import { fillsLastStep, resolveShard, type Shard, type ShardOptions } from './options.js';
import { Progress, type DataPosition } from './progress.js';
import { requireCount } from './require-count.js';
import { cloneTensors, rowsOf } from './structure.js';

/** One rank's part of a list of batches. */
export interface ShardedBatches<T> extends AsyncIterable<T> {
  /** Batches of an epoch on this rank. */
  readonly length: number;
  /** The same, each iteration of which begins after the first `batches` of this rank. */
  skipFirst(batches: number): ShardedBatches<T>;
  /** Where it is: plain values, for a checkpoint. */
  getState(): DataPosition;
  /** The next iteration goes on from there; on any number of ranks. */
  setState(state: DataPosition): void;
}

/**
 * One rank's part of a list of batches, each of them nested records and arrays of tensors, dim 0 the samples. The list
 * and its tensors stay the caller's; what is given out are clones or slices, which belong to whoever reads them.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; when iterated `ACC_DATA_SPLIT`, `ACC_DATA_ROWS_DIFFER`.
 */
export function shardBatches<T>(list: readonly T[], options: ShardOptions): ShardedBatches<T> {
  return partOfList(list, resolveShard('shardBatches', options), new Progress(), 0);
}

function partOfList<T>(
  list: readonly T[],
  shard: Shard,
  progress: Progress,
  skipped: number,
): ShardedBatches<T> {
  const plan = (from: number) =>
    shard.splitBatches ? planParts(list, shard, from) : planWhole(list, shard, from);
  const ofStep = shard.splitBatches ? 1 : shard.size;
  return {
    get length() {
      return plan(skipped * ofStep).length;
    },
    skipFirst(batches) {
      requireCount('skipFirst', batches);
      return partOfList(list, shard, progress, batches);
    },
    getState: () => progress.getState(),
    setState: (state) => progress.setState(state),
    async *[Symbol.asyncIterator]() {
      const iteration = progress.begin();
      const from = skipped > 0 ? skipped * ofStep : iteration.from;
      yield* deliver(listSteps(list, plan(from)), shard, iteration);
    },
  };
}

interface PlannedStep {
  readonly index: number;
  /** Rows of the batch; all of them where absent. */
  readonly part?: { readonly start: number; readonly count: number };
  readonly rows: readonly number[];
  readonly realRows: readonly number[];
  /** Batches of the list that were taken after it. */
  readonly end: number;
}

async function* listSteps<T>(list: readonly T[], steps: readonly PlannedStep[]): AsyncGenerator<Step<T>> {
  for (const [i, { index, part, rows, realRows, end }] of steps.entries()) {
    const whole = list[index]!;
    const batch = part ? sliceRows(whole, part.start, part.count) : cloneTensors(whole);
    yield { batch, counts: { rows, realRows, isLast: i === steps.length - 1 }, end };
  }
}

/** Each step takes as many batches as there are ranks. */
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

/** Each batch is cut: a step for each. */
function planParts(list: readonly unknown[], shard: Shard, from: number): PlannedStep[] {
  const { rank, size } = shard;
  const steps: PlannedStep[] = [];
  for (const [index, batch] of list.entries()) {
    const batchRows = commonRows('list of batches', batch);
    const { starts, rows, realRows } = cutRowsOf(batchRows, size, fillsLastStep(shard));
    if (index < from || (rows[rank] === 0 && batchRows > 0)) continue;
    const part = { start: starts[rank]!, count: rows[rank]! };
    steps.push({ index, part, rows, realRows, end: index + 1 });
  }
  return steps;
}
