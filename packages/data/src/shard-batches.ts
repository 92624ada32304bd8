import type { Step } from './batch-counts.js';
import { commonRows, cutRowsOf, sliceRows } from './cut-batch.js';
import { deliver } from './deliver.js';
import { fillsLastStep, resolveShard, type Shard, type ShardOptions } from './options.js';
import { cloneTensors, rowsOf } from './structure.js';

/** One rank's part of a list of batches. */
export interface ShardedBatches<T> extends AsyncIterable<T> {
  /** Batches of an epoch on this rank. */
  readonly length: number;
}

/**
 * One rank's part of a list of batches, each of them nested records and arrays of tensors, dim 0 the samples. The list
 * and its tensors stay the caller's; what is given out are clones or slices, which belong to whoever reads them.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; when iterated `ACC_DATA_SPLIT`, `ACC_DATA_ROWS_DIFFER`.
 */
export function shardBatches<T>(list: readonly T[], options: ShardOptions): ShardedBatches<T> {
  const shard = resolveShard('shardBatches', options);
  const plan = () => (shard.splitBatches ? planParts(list, shard) : planWhole(list, shard));
  return {
    get length() {
      return plan().length;
    },
    [Symbol.asyncIterator]: () => deliver(listSteps(list, plan), shard.onBatch),
  };
}

interface PlannedStep {
  readonly index: number;
  /** Rows of the batch; all of them where absent. */
  readonly part?: { readonly start: number; readonly count: number };
  readonly rows: readonly number[];
  readonly realRows: readonly number[];
}

async function* listSteps<T>(list: readonly T[], plan: () => PlannedStep[]): AsyncGenerator<Step<T>> {
  const steps = plan();
  for (const [i, { index, part, rows, realRows }] of steps.entries()) {
    const whole = list[index]!;
    const batch = part ? sliceRows(whole, part.start, part.count) : cloneTensors(whole);
    yield { batch, counts: { rows, realRows, isLast: i === steps.length - 1 } };
  }
}

/** Each step takes as many batches as there are ranks. */
function planWhole(list: readonly unknown[], shard: Shard): PlannedStep[] {
  const { rank, size } = shard;
  const fills = fillsLastStep(shard);
  const steps: PlannedStep[] = [];
  for (let first = 0; first < list.length; first += size) {
    const realRows = Array.from({ length: size }, (_, r) =>
      first + r < list.length ? rowsOf(list[first + r]) : 0,
    );
    const rows = realRows.map((count, r) =>
      fills && first + r >= list.length ? rowsOf(list[(first + r) % list.length]) : count,
    );
    const isOurs = fills || first + rank < list.length;
    if (isOurs) steps.push({ index: (first + rank) % list.length, rows, realRows });
  }
  return steps;
}

/** Each batch is cut: a step for each. */
function planParts(list: readonly unknown[], shard: Shard): PlannedStep[] {
  const { rank, size } = shard;
  const steps: PlannedStep[] = [];
  for (const [index, batch] of list.entries()) {
    const batchRows = commonRows('list of batches', batch);
    const { starts, rows, realRows } = cutRowsOf(batchRows, size, fillsLastStep(shard));
    if (rows[rank] === 0 && batchRows > 0) continue;
    steps.push({ index, part: { start: starts[rank]!, count: rows[rank]! }, rows, realRows });
  }
  return steps;
}
