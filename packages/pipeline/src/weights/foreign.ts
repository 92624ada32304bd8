import { dispose, engine, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { listedFor } from '@acc/kernels';
import { foreignVariable } from '../errors.js';

/** The trainable variables that are no weights of the model, such as one that the loss uses. */
export function foreignVariables(weights: Iterable<Variable>): Variable[] {
  const names = new Set(Array.from(weights, (weight) => listedFor(weight).name));
  return Object.values(engine().registeredVariables).filter(
    ({ trainable, dtype, name }) => trainable && dtype === 'float32' && !names.has(name),
  );
}

/**
 * Requires that no gradient is lost. Disposes `grads`.
 *
 * @param grads Those of `foreign`.
 * @throws AccError `ACC_PIPELINE_WEIGHT`.
 */
export function requireNoForeign(foreign: readonly Variable[], grads: readonly (Tensor | null)[]): void {
  const variable = foreign.find((_, i) => grads[i]);
  dispose(grads.filter((grad) => grad !== null));
  if (variable) throw foreignVariable(variable);
}
