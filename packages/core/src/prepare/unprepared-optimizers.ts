import {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamaxOptimizer,
  AdamOptimizer,
  MomentumOptimizer,
  Optimizer,
  RMSPropOptimizer,
  SGDOptimizer,
  type NamedTensorMap,
} from '@tensorflow/tfjs-core';
import { SlotOptimizer } from '@acc/kernels';
import type { Undo } from './prepare.js';

/** The classes that have an `applyGradients` of their own. */
const CLASSES: readonly { readonly prototype: Optimizer }[] = [
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamOptimizer,
  AdamaxOptimizer,
  MomentumOptimizer,
  RMSPropOptimizer,
  SGDOptimizer,
  SlotOptimizer,
];

/**
 * Watches optimizers that nobody has prepared. Each calls `prepares` with the names of the gradients that it computes or
 * applies; where that answers true, the optimizer is prepared by then, and its own methods take over.
 */
export function watchOptimizers(prepares: (optimizer: Optimizer, names: readonly string[]) => boolean): Undo {
  const undoApply = CLASSES.map(({ prototype }) => watchApply(prototype, prepares));
  const { computeGradients } = Optimizer.prototype;
  Optimizer.prototype.computeGradients = function (this: Optimizer, ...args) {
    const result = computeGradients.apply(this, args);
    prepares(this, Object.keys(result.grads));
    return result;
  };
  return () => {
    Optimizer.prototype.computeGradients = computeGradients;
    for (const undo of undoApply) undo();
  };
}

function watchApply(
  prototype: Optimizer,
  prepares: (optimizer: Optimizer, names: readonly string[]) => boolean,
): Undo {
  const { applyGradients } = prototype;
  prototype.applyGradients = function (this: Optimizer, given) {
    const names = Array.isArray(given) ? given.map(({ name }) => name) : Object.keys(given);
    if (prepares(this, names)) this.applyGradients(given as NamedTensorMap);
    else applyGradients.call(this, given);
  };
  return () => {
    prototype.applyGradients = applyGradients;
  };
}
