import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { shardFit, type FitContext } from '../fit/shard-fit.js';
import type { ModelInternals } from './model-internals.js';
import type { Undo } from './prepare.js';

export interface PrepareModelContext extends FitContext {
  prepareVariables(variables: readonly Variable[]): void;
  prepareOptimizer(optimizer: Optimizer): void;
}

/**
 * Prepares a LayersModel in place: its weights, its optimizer when it is compiled (also later), and `fit` and `fitDataset`.
 *
 * @throws AccError `ACC_MODEL_NOT_BUILT` for a model whose weights do not exist yet.
 */
export function prepareModel(model: ModelInternals, context: PrepareModelContext): Undo {
  context.prepareVariables(variablesOf(model));
  if (model.optimizer) context.prepareOptimizer(model.optimizer);
  const compile = model.compile;
  model.compile = function (args) {
    compile.call(model, args);
    context.prepareOptimizer(model.optimizer!);
  };
  const undoFit = shardFit(model, context);
  return () => {
    model.compile = compile;
    undoFit();
  };
}

/** All weights of the model: trained ones first, statistics after, as the model lists them. */
export function variablesOf(model: ModelInternals): Variable[] {
  try {
    return model.weights.map((weight) => weight.read());
  } catch (cause) {
    throw new AccError('ACC_MODEL_NOT_BUILT', 'The model has no weights yet.', {
      cause,
      help: 'Give the first layer an inputShape, or call model.build(inputShape), before prepare.',
    });
  }
}
