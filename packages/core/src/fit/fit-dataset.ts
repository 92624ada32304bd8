import {
  overrides,
  patch,
  type Callback,
  type FitDatasetArguments,
  type History,
  type ModelInternals,
  type StepFunction,
  type Undo,
} from '@acc/tfjs-internals';
import { callbackOfCall, prependHistory, withBatchSizes, type LoopCall } from './callbacks.js';
import { samplesOf } from '../step/batch-rows.js';
import { stoppingFirst } from './fit-callbacks.js';
import type { FitPosition } from './fit-progress.js';
import type { FitCalls, FitContext, ShardedData } from './fit-context.js';

/** Makes `fitDataset` train on this rank's batches. */
export function shardFitDataset(
  model: ModelInternals,
  context: FitContext,
  { validation, shareOrders }: FitCalls,
): Undo {
  return patch(model, 'fitDataset', 'fit', (own) => async (dataset, args) => {
    const run = runner(model, own, context);
    shareOrders();
    validation.data = args.validationData;
    const given = context.shardDataset(dataset);
    // With batchesPerEpoch, tfjs-layers stops at `done: true` and ignores a value that comes with
    // it.
    const shard = args.batchesPerEpoch === undefined ? given.withResult() : given;
    const start = context.progress.begin(args.initialEpoch ?? 0, { model, epochs: args.epochs! });
    const endCallbacks = context.progress.callbacks.begin(args.callbacks);
    if (start.position === 0) shard.passEnd();
    try {
      const isCut = start.position > 0 && args.batchesPerEpoch !== undefined && start.epoch < args.epochs!;
      return await (isCut ? runInCalls(run, { model, shard, args, start }) : run(shard, args, start));
    } finally {
      // With batchesPerEpoch, tfjs-layers stops reading without closing the iterator.
      await shard.closeIterators();
      endCallbacks();
      context.progress.end();
      validation.data = undefined;
      context.trainingStep.batch = undefined;
      context.determinism?.beginBatch(undefined);
      context.trainingStep.accumulation.reset();
    }
  });
}

type Run = (data: object, args: FitDatasetArguments, from: FitPosition) => Promise<History>;

/** Runs the original `fitDataset`, with each step as a micro-batch. */
function runner(model: ModelInternals, fitDataset: ModelInternals['fitDataset'], context: FitContext): Run {
  return async (data, args, from) => {
    // fitDataset creates its train function itself, once, before its first step.
    const undo = patch(model, 'makeTrainFunction', 'first step', (own) => () => {
      undo();
      const perEpoch = args.batchesPerEpoch && from.position + args.batchesPerEpoch;
      return microBatches(own.call(model), perEpoch, from, context);
    });
    try {
      return await fitDataset.call(model, data, argumentsOf(model, args, { from, context }));
    } finally {
      undo();
    }
  };
}

/** A class with a loop of its own gets the options as the program gave them. */
function argumentsOf(
  model: ModelInternals,
  args: FitDatasetArguments,
  { from, context }: { readonly from: FitPosition; readonly context: FitContext },
): FitDatasetArguments {
  const isThere = from.epoch === (args.initialEpoch ?? 0);
  const there = isThere ? args : { ...args, initialEpoch: from.epoch };
  if (overrides(model, 'fitDataset')) return there;
  return {
    ...there,
    callbacks: withBatchSizes(stoppingFirst(args.callbacks), () => samplesOf(context.trainingStep.batch)),
  };
}

/**
 * Makes each step a micro-batch. The last one of an epoch closes its window.
 *
 * @param from The position at which tfjs-layers begins. Without `batchesPerEpoch` the data itself
 * resumes there.
 */
function microBatches(
  train: StepFunction,
  batchesPerEpoch: number | undefined,
  from: FitPosition,
  { trainingStep, progress }: FitContext,
): StepFunction {
  let { epoch, position } = from;
  return (ins) => {
    position++;
    const isLast = position === batchesPerEpoch || trainingStep.batch?.isLast;
    const outs = trainingStep.microBatch(() => train(ins), { isLast, isInFit: true });
    const endsEpoch = batchesPerEpoch === undefined ? isLast : position === batchesPerEpoch;
    if (endsEpoch) {
      epoch++;
      position = 0;
    }
    progress.advance({ epoch, position });
    return outs;
  };
}

interface CutFit {
  readonly model: ModelInternals;
  readonly shard: ShardedData;
  readonly args: FitDatasetArguments;
  readonly start: FitPosition;
}

/**
 * Runs the rest of an epoch with `batchesPerEpoch` as a shorter epoch, and then the other epochs,
 * over one iterator.
 */
async function runInCalls(run: Run, { model, shard, args, start }: CutFit): Promise<History> {
  const { epoch, position } = start;
  const data = withOneIterator(shard);
  const hasMore = epoch + 1 < args.epochs!;
  const argsOf = (call: LoopCall) => ({ ...args, callbacks: callbacksOfCall(args.callbacks, call) });
  const left = { epochs: epoch + 1, batchesPerEpoch: args.batchesPerEpoch! - position };
  const only = { isFirst: true, isLast: !hasMore, firstBatch: position };
  const first = await run(data, { ...argsOf(only), ...left }, start);
  if (!hasMore) return first;
  const from = { epoch: model.stopTraining_ ? args.epochs! : epoch + 1, position: 0 };
  const rest = await run(data, argsOf({ isFirst: false, isLast: true, firstBatch: 0 }), from);
  prependHistory(first, rest);
  return rest;
}

/**
 * The same data with one iterator for both calls, so that the second call continues where the first
 * stopped.
 */
function withOneIterator(shard: ShardedData): object {
  let iterator: Promise<unknown> | undefined;
  return Object.create(shard, {
    iterator: {
      value: () => (iterator ??= (shard as unknown as { iterator(): Promise<unknown> }).iterator()),
    },
  }) as object;
}

/**
 * Converts callbacks for one call of the loop. tfjs-layers accepts callbacks, or records of
 * functions, one or a list of them.
 */
function callbacksOfCall(callbacks: unknown, call: LoopCall): unknown {
  const list = (callbacks === undefined ? [] : [callbacks].flat()) as (Callback | Partial<Callback>)[];
  return list.map((each) =>
    'setParams' in each ? callbackOfCall(each as Callback, call) : functionsOf(each, call),
  );
}

function functionsOf(given: Partial<Callback>, { isFirst, isLast, firstBatch }: LoopCall): object {
  const { onTrainBegin, onTrainEnd, onBatchBegin, onBatchEnd, ...others } = given;
  return {
    ...others,
    ...(isFirst && onTrainBegin && { onTrainBegin }),
    ...(isLast && onTrainEnd && { onTrainEnd }),
    ...(onBatchBegin && {
      onBatchBegin: (batch: number, logs: object) => onBatchBegin(batch + firstBatch, logs),
    }),
    ...(onBatchEnd && { onBatchEnd: (batch: number, logs: object) => onBatchEnd(batch + firstBatch, logs) }),
  };
}
