import { gather, range, slice, tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import type { BatchRows } from '@acc/contract';
import { permutation, shardOf, splitRows, type SequenceShard } from '@acc/data';
import {
  patch,
  type Callback,
  type History,
  type ModelInternals,
  type StepFunction,
  type Undo,
} from '@acc/tfjs-internals';
import type { FitCalls, FitContext } from './fit-context.js';
import { boundaryCallback, callbackOfCall, prependHistory, type LoopCall } from './callbacks.js';
import { stoppingFirst } from './fit-callbacks.js';
import type { FitPosition } from './fit-progress.js';

const DEFAULT_BATCH_SIZE = 32;

/**
 * Runs `fit` on tensors. tfjs-layers' own loop runs over the global batches. It gets a column of
 * row numbers instead of the data, and each step takes this rank's rows of the real columns. Global
 * batch k contains the same rows as in a program on one rank. The order of rows is seeded and the
 * same on every rank.
 */
export function shardFitLoop(
  model: ModelInternals,
  context: FitContext,
  { validation, compareRows }: FitCalls,
): Undo {
  const undoFit = patch(model, 'fit', 'fit', (own) => async (x, y, args) => {
    const endCallbacks = context.progress.callbacks.begin(args?.callbacks);
    try {
      return await own.call(model, x, y, args);
    } finally {
      endCallbacks();
    }
  });
  const undoLoop = patch(model, 'fitLoop', 'fit', (own) => async (...args) => {
    const [f, ins, outLabels, batchSize = DEFAULT_BATCH_SIZE, epochs = 1, verbose, callbacks, ...rest] = args;
    const [valF, valIns, shuffle, callbackMetrics, initialEpoch = 0, stepsPerEpoch, validationSteps] = rest;
    compareRows(ins);
    validation.testFunction = valF;
    const rows = ins[0]!.shape[0]!;
    const globalBatch = context.splitBatches ? batchSize : batchSize * context.dataRanks.size;
    for (const count of [Math.min(globalBatch, rows), rows % globalBatch]) {
      if (count > 0) context.determinism?.requireRows(batchRowsOf(count, context.dataRanks.size));
    }
    const run: RunLoop = async (call, { from, toEpoch }) => {
      const step = shardedStep(f, ins, { context, rows, globalBatch, shuffle, from });
      const rowNumbers = range(from.position, rows, 1, 'int32');
      const heard = stoppingFirst(callbacksOf(callbacks)).map((callback) => callbackOfCall(callback, call));
      const all = [...heard, boundaryCallback(context.atBoundary)];
      // The steps use their own order of rows, so tfjs-layers must not shuffle.
      const loop = [step, [rowNumbers], outLabels, globalBatch, toEpoch, verbose, all] as const;
      const after = [
        valF,
        valIns,
        false,
        callbackMetrics,
        from.epoch,
        stepsPerEpoch,
        validationSteps,
      ] as const;
      try {
        return await own.call(model, ...loop, ...after);
      } finally {
        rowNumbers.dispose();
      }
    };
    try {
      const start = context.progress.begin(initialEpoch, { model, epochs });
      return await runInCalls(run, { start, epochs, globalBatch, model });
    } finally {
      context.progress.end();
      context.trainingStep.batch = undefined;
      context.determinism?.beginBatch(undefined);
      context.trainingStep.accumulation.reset();
      validation.testFunction = null;
    }
  });
  return () => {
    undoLoop();
    undoFit();
  };
}

/**
 * Runs tfjs-layers' loop from the start of an epoch, or a position within it, to the end of an
 * epoch.
 */
type RunLoop = (
  call: LoopCall,
  range: { readonly from: FitPosition; readonly toEpoch: number },
) => Promise<History>;

interface WholeFit {
  readonly start: FitPosition;
  readonly epochs: number;
  readonly globalBatch: number;
  readonly model: ModelInternals;
}

/** Runs the rest of an epoch as a shorter epoch, and then the other epochs. */
async function runInCalls(run: RunLoop, { start, epochs, globalBatch, model }: WholeFit): Promise<History> {
  const { epoch, position } = start;
  const isCut = position > 0 && epoch < epochs;
  const only = { isFirst: true, isLast: true, firstBatch: 0 };
  if (!isCut) return run(only, { from: start, toEpoch: epochs });
  const hasMore = epoch + 1 < epochs;
  const firstBatch = Math.ceil(position / globalBatch);
  const first = await run({ ...only, isLast: !hasMore, firstBatch }, { from: start, toEpoch: epoch + 1 });
  if (!hasMore) return first;
  // If a callback has stopped the training, the remaining epochs do not run.
  const from = { epoch: model.stopTraining_ ? epochs : epoch + 1, position: 0 };
  const rest = await run({ ...only, isFirst: false }, { from, toEpoch: epochs });
  prependHistory(first, rest);
  return rest;
}

function callbacksOf(callbacks: unknown): readonly Callback[] {
  return (callbacks ?? []) as readonly Callback[];
}

interface ShardedStepOptions {
  readonly context: FitContext;
  readonly rows: number;
  readonly globalBatch: number;
  readonly shuffle: boolean | string | undefined;
  readonly from: FitPosition;
}

/**
 * A step on this rank's rows of the next global batch. tfjs-layers calls it for each batch of each
 * epoch.
 */
function shardedStep(f: StepFunction, ins: readonly Tensor[], options: ShardedStepOptions): StepFunction {
  const { context, rows, globalBatch, shuffle = true, from } = options;
  const { rank, size } = context.dataRanks;
  let { epoch, position: first } = from;
  let order: Int32Array | undefined;
  let orderedEpoch: number | undefined;
  return () => {
    if (shuffle && orderedEpoch !== epoch) order = permutation(rows, context.seed, epoch);
    orderedEpoch = epoch;
    const end = Math.min(first + globalBatch, rows);
    const batch = batchRowsOf(end - first, size);
    const start = batch.realRows[rank] === 0 ? first : first + splitRows(end - first, size)[rank]!.start;
    const columns = takeRows(ins, { order, start, count: batch.rows[rank]!, sequence: context.sequence });
    context.trainingStep.batch = batch;
    context.determinism?.beginBatch(batch, columns.filter(isThere));
    const isLast = end === rows;
    const outs = context.trainingStep.microBatch(() => f(columns), { isLast, isInFit: true });
    if (isLast) epoch++;
    first = isLast ? 0 : end;
    context.progress.advance({ epoch, position: first });
    return outs;
  };
}

/**
 * Divides a global batch among the ranks. If a short last batch has no row for a rank, the rank
 * takes a row with weight 0.
 */
function batchRowsOf(count: number, size: number): BatchRows {
  const realRows = splitRows(count, size).map(({ count: own }) => own);
  return { realRows, rows: realRows.map((own) => Math.max(own, 1)) };
}

const isThere = (column: Tensor | null): column is Tensor => column !== null;

interface RowsToTake {
  readonly order: Int32Array | undefined;
  readonly start: number;
  readonly count: number;
  readonly sequence: SequenceShard | undefined;
}

/** tfjs-layers uses null for missing sample weights. */
function takeRows(ins: readonly (Tensor | null)[], { order, start, count, sequence }: RowsToTake): Tensor[] {
  const indices = order && tensor1d(order.subarray(start, start + count), 'int32');
  const take = (column: Tensor) => {
    const rows = indices ? gather(column, indices) : slice(column, start, count);
    if (!sequence) return rows;
    const shard = shardOf(rows, sequence);
    rows.dispose();
    return shard;
  };
  return ins.map((column) => (column === null ? column : take(column))) as Tensor[];
}
