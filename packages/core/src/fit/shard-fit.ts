import { compareRows, examineMetrics, shardValidation } from '#platform/several-ranks';
import type { Tensor } from '@tensorflow/tfjs-core';
import { patch, type ModelInternals, type StepFunction, type Undo } from '@acc/tfjs-internals';
import type { AnyModel } from '@acc/pipeline';
import { shareOrders } from '../random/data-orders.js';
import type { FitCalls, FitContext, Validation } from './fit-context.js';
import { shardFitDataset } from './fit-dataset.js';
import { shardFitLoop } from './fit-loop.js';
import { inTurn } from './in-turn.js';
import { reduceScalars } from './reduce-scalars.js';
import { shardEvaluation } from './validation.js';

/**
 * Makes `model.fit`, `fitDataset` and `trainOnBatch` train on every rank's share of the data.
 * Callbacks, History, validation and early stopping are those of tfjs-layers. They get the logs
 * over all ranks, so all ranks make the same decisions.
 */
export function shardFit(model: ModelInternals, context: FitContext): Undo {
  const name = model.weights[0]?.read().name ?? '';
  const forModel = <T>(fn: () => T) => context.gradientRanks.named(name, fn);
  const validation: Validation = { testFunction: null, data: undefined };
  // Ranks that hold shards run the model together, so they need the same number of batches.
  const validatesAll = context.determinism !== undefined || context.trainingStep.limits.isSharded;
  const ranks = validatesAll
    ? { rows: { rank: 0, size: 1 }, over: context.mesh.along('context'), forModel }
    : { rows: context.dataRanks, over: context.gradientRanks, forModel };
  const examining = examineMetrics(model);
  const comparing = compareRows(context.gradientRanks);
  const together = (call: () => void) => {
    if (!context.trainingStep.sync.isOff) forModel(call);
  };
  const calls: FitCalls = {
    validation,
    compareRows: (columns) => together(() => comparing(columns)),
    shareOrders: () => together(() => shareOrders(context.gradientRanks)),
  };
  const undos = [
    patch(model, 'makeTrainFunction', 'fit', (own) => () => {
      const { pipelines } = context;
      const train = pipelines.isUsedByFit ? pipelines.trainFunctionOf(model as AnyModel) : own.call(model);
      return reducedStep(examining(context.gradientRanks, train), context, forModel);
    }),
    patch(model, 'makeTestFunction', 'fit', (own) => () => {
      own.call(model);
      const test = examining(ranks.over, model.testFunction);
      const predict = (ins: Tensor[]) => context.trainingStep.predict(() => test(ins));
      model.testFunction = (ins) => context.determinism?.alike(() => predict(ins)) ?? predict(ins);
    }),
    shardFitLoop(model, context, calls),
    shardFitDataset(model, context, calls),
    ...(ranks.over.size === 1 ? [] : [shardValidation(model, context, validation, ranks)]),
    shardEvaluation(model, context, validation, ranks),
    // Applied last, so that a turn includes everything.
    inTurn(model, context),
  ];
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/** A step whose losses and metrics are those of all ranks. */
function reducedStep(
  train: StepFunction,
  { trainingStep, gradientRanks, determinism }: FitContext,
  forModel: <T>(fn: () => T) => T,
): StepFunction {
  // With determinism, values are summed over this rank's own shards in the same way as over ranks,
  // even on one rank.
  if (gradientRanks.size === 1 && !determinism) return train;
  return (ins) =>
    forModel(() => {
      trainingStep.lossItems.last = undefined;
      const outs = train(ins);
      return reduceScalars(outs, trainingStep.share, gradientRanks, trainingStep.lossItems.last);
    });
}
