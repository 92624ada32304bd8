import { gather, range, slice, tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import { permutation } from '@acc/data';
import type { ModelInternals, StepFunction } from '../prepare/model-internals.js';
import type { Undo } from '../prepare/prepare.js';
import { splitRows } from '../step/batch-rows.js';
import type { FitContext } from './shard-fit.js';
import type { Validation } from './validation.js';

const DEFAULT_BATCH_SIZE = 32;

/**
 * `fit` on tensors. tfjs-layers' own loop runs over the global batches: it is given a column of row numbers in place of the
 * data, and each step takes this rank's rows of the real columns. Global batch k holds the rows that it holds in the plain
 * program; its order of rows is seeded and the same on every rank.
 */
export function shardFitLoop(model: ModelInternals, context: FitContext, validation: Validation): Undo {
  const { fitLoop } = model;

  model.fitLoop = async (...args) => {
    const [f, ins, outLabels, batchSize = DEFAULT_BATCH_SIZE, epochs, verbose, callbacks, ...rest] = args;
    const [valF, valIns, shuffle, callbackMetrics, initialEpoch, stepsPerEpoch, validationSteps] = rest;
    validation.testFunction = valF;
    const rows = ins[0]!.shape[0]!;
    const globalBatch = context.splitBatches ? batchSize : batchSize * context.collective.size;
    const step = shardedStep(f, ins, { context, rows, globalBatch, shuffle, initialEpoch });
    const rowNumbers = range(0, rows, 1, 'int32');
    // The steps know the order of rows; tfjs-layers must not shuffle.
    const loop = [step, [rowNumbers], outLabels, globalBatch, epochs, verbose, callbacks] as const;
    const after = [
      valF,
      valIns,
      false,
      callbackMetrics,
      initialEpoch,
      stepsPerEpoch,
      validationSteps,
    ] as const;
    try {
      return await fitLoop.call(model, ...loop, ...after);
    } finally {
      rowNumbers.dispose();
      context.pipeline.batch = undefined;
      context.pipeline.accumulation.reset();
      validation.testFunction = null;
    }
  };

  return () => {
    model.fitLoop = fitLoop;
  };
}

interface ShardedStepOptions {
  readonly context: FitContext;
  readonly rows: number;
  readonly globalBatch: number;
  readonly shuffle: boolean | string | undefined;
  readonly initialEpoch: number | undefined;
}

/** A step on this rank's rows of the next global batch. tfjs-layers calls it batch by batch, epoch by epoch. */
function shardedStep(f: StepFunction, ins: readonly Tensor[], options: ShardedStepOptions): StepFunction {
  const { context, rows, globalBatch, shuffle = true, initialEpoch = 0 } = options;
  const { rank, size } = context.collective;
  const stepsPerEpoch = Math.ceil(rows / globalBatch);
  let step = 0;
  let order: Int32Array | undefined;
  return () => {
    const inEpoch = step % stepsPerEpoch;
    if (inEpoch === 0 && shuffle) {
      order = permutation(rows, context.seed, initialEpoch + step / stepsPerEpoch);
    }
    step++;
    const first = inEpoch * globalBatch;
    const parts = splitRows(Math.min(globalBatch, rows - first), size);
    const realRows = parts.map(({ start, end }) => end - start);
    // A rank without a row of a last, short batch takes one that counts for nothing.
    context.pipeline.batch = { realRows, rows: realRows.map((count) => Math.max(count, 1)) };
    const start = realRows[rank] === 0 ? first : first + parts[rank]!.start;
    const columns = takeRows(ins, order, start, context.pipeline.batch.rows[rank]!);
    const isLast = inEpoch === stepsPerEpoch - 1;
    return context.pipeline.microBatch(() => f(columns), { isLast, isInFit: true });
  };
}

/** tfjs-layers has null in place of sample weights that were not given. */
function takeRows(
  ins: readonly (Tensor | null)[],
  order: Int32Array | undefined,
  start: number,
  count: number,
): Tensor[] {
  const indices = order && tensor1d(order.subarray(start, start + count), 'int32');
  const take = (column: Tensor) => (indices ? gather(column, indices) : slice(column, start, count));
  return ins.map((column) => (column === null ? column : take(column))) as Tensor[];
}
