import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { patch, type ModelInternals, type Undo } from '@acc/tfjs-internals';
import type { FitContext } from '../fit/fit-context.js';
import { shardFit } from '../fit/shard-fit.js';
import { variablesOf } from './model-weights.js';

export interface PrepareModelContext extends FitContext {
  prepareVariables(variables: readonly Variable[], layers: readonly unknown[]): void;
  prepareOptimizer(optimizer: Optimizer): void;
  prepareLayers(layers: readonly unknown[]): Undo;
  /** Makes the model keep fewer tensors for backward. */
  keepLess(model: object): Undo;
  /** Runs a forward pass without gradients. */
  predict<T>(compute: () => T): T;
}

/**
 * Prepares a LayersModel in place: its weights, its layers, its optimizer (also if it is compiled
 * later), `fit` and `fitDataset`.
 *
 * @throws AccError `ACC_MODEL_NOT_BUILT` for a model whose weights do not exist yet.
 */
export function prepareModel(model: ModelInternals, context: PrepareModelContext): Undo {
  context.prepareVariables(variablesOf(model), model.layers);
  const undoLayers = context.prepareLayers(model.layers);
  let undoActivations: Undo = () => {};
  const undoPredictions = wrapPredictions(model, context);
  let undoFit: Undo = () => {};
  const prepareTraining = () => {
    undoFit();
    undoActivations();
    undoActivations = context.keepLess(trainedModelOf(model));
    if (!model.optimizer) return;
    context.prepareOptimizer(model.optimizer);
    undoFit = shardFit(trainedModelOf(model), context);
  };
  prepareTraining();
  const undoCompile = patch(model, 'compile', 'prepared model', (own) => (args) => {
    own.call(model, args);
    prepareTraining();
  });
  return () => {
    undoCompile();
    undoFit();
    undoActivations();
    undoLayers();
    undoPredictions();
  };
}

/** Runs the passes of `predict` and `predictOnBatch` through the training step. */
function wrapPredictions(model: ModelInternals, context: PrepareModelContext): Undo {
  const undos = [
    patch(
      model,
      'predict',
      'prepared model',
      (own) =>
        (...args) =>
          context.predict(() => own.apply(model, args)),
    ),
    patch(
      model,
      'predictOnBatch',
      'prepared model',
      (own) =>
        (...args) =>
          context.predict(() => own.apply(model, args)),
    ),
  ];
  return () => {
    for (const undo of undos) undo();
  };
}

/** A Sequential trains through an inner LayersModel, which every compile creates again. */
function trainedModelOf(model: ModelInternals): ModelInternals {
  return model.model ?? model;
}
