import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Determinism } from '@acc/contract';
import { patch, type ModelInternals, type StepFunction, type Undo } from '@acc/tfjs-internals';
import type { StepPipeline } from '../step/step-pipeline.js';
import type { BatchRows } from '../step/batch-rows.js';
import type { FitProgress } from './fit-progress.js';
import { shardFitDataset } from './fit-dataset.js';
import { shardFitLoop } from './fit-loop.js';
import { inTurn } from './in-turn.js';
import { reduceScalars } from './reduce-scalars.js';
import type { Turns } from './turns.js';
import { shardValidation, type Validation } from './validation.js';

export interface FitContext {
  readonly pipeline: StepPipeline;
  /** The ranks that get rows of their own. */
  readonly dataRanks: Collective;
  readonly splitBatches: boolean;
  readonly seed: number;
  readonly progress: FitProgress;
  readonly turns: Turns;
  /** To be awaited after each batch. */
  readonly atBoundary: () => Promise<void>;
  /** Validation then is every rank's own affair: divided, its sums would depend on how many ranks there are. */
  readonly determinism: Determinism | undefined;
  /** The dataset with this rank's part of the batches; one that was prepared comes back as it is. */
  shardDataset(dataset: object): ShardedData;
  /** The same for validation: nothing is filled in, so that every sample counts once. `onBatch` hears of each batch. */
  shardValidation(dataset: object, onBatch: (rows: BatchRows) => void): ShardedData;
}

/** A dataset with one rank's batches. */
export interface ShardedData {
  /** The same, where a value that comes with `done` is a batch, as it is for tfjs-layers. */
  withResult(): ShardedData;
  /** Frees what iterators hold that were left before their end. */
  closeIterators(): Promise<void>;
  /** Begins a new iteration where the next one was to go on at the end of another. */
  passEnd(): void;
}

/**
 * Makes `model.fit`, `fitDataset` and `trainOnBatch` train on every rank's part of the data. What tfjs-layers does around
 * the steps (callbacks, History, validation, early stopping) stays its own; it sees the logs of all ranks together, so
 * that all ranks decide alike.
 */
export function shardFit(model: ModelInternals, context: FitContext): Undo {
  const name = model.weights[0]?.read().name ?? '';
  const forModel = <T>(fn: () => T) => context.dataRanks.named(name, fn);
  const validation: Validation = { testFunction: null, data: undefined };
  const undos = [
    patch(model, 'makeTrainFunction', (own) => () => reducedStep(own.call(model), context, forModel)),
    patch(model, 'makeTestFunction', (own) => () => {
      own.call(model);
      const test = model.testFunction;
      const predict = (ins: Tensor[]) => context.pipeline.predict(() => test(ins));
      model.testFunction = (ins) => context.determinism?.alike(() => predict(ins)) ?? predict(ins);
    }),
    shardFitLoop(model, context, validation),
    shardFitDataset(model, context, validation),
    ...(context.determinism ? [] : [shardValidation(model, context, validation, forModel)]),
    // Last, so that a turn is around all of it.
    inTurn(model, context),
  ];
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/** A step whose losses and metrics are those of all ranks. */
function reducedStep(
  train: StepFunction,
  { pipeline, dataRanks, determinism }: FitContext,
  forModel: <T>(fn: () => T) => T,
): StepFunction {
  // What is deterministic is summed over this rank's own shards as over ranks, also where there is one.
  if (dataRanks.size === 1 && !determinism) return train;
  return (ins) =>
    forModel(() => {
      pipeline.lossItems.last = undefined;
      const outs = train(ins);
      return reduceScalars(outs, pipeline.share, dataRanks, pipeline.lossItems.last);
    });
}
