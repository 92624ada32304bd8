import type { Variable } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import type { ModelInternals } from '@acc/tfjs-internals';

/**
 * The names that layers give to their weights. tfjs gives a variable another name if the process
 * already has one of that name.
 */
const weightNames = new WeakMap<Variable, string>();

/** The name that a variable has in files. */
export function weightName(variable: Variable): string {
  return weightNames.get(variable) ?? variable.name;
}

/** All weights of the model in the model's order: trained ones first, then statistics. */
export function variablesOf(model: ModelInternals): Variable[] {
  if (model.layers.length === 0) {
    throw new AccError('ACC_MODEL_NOT_BUILT', 'The model has no layers yet.', {
      help: 'Add its layers before prepare. The first layer needs an inputShape.',
    });
  }
  return model.weights.map((weight) => {
    const variable = weight.read();
    weightNames.set(variable, weight.originalName);
    return variable;
  });
}
