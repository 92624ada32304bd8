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
import { patch, type Undo } from '@acc/tfjs-internals';

/** The classes that have their own `applyGradients`. */
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
 * Watches optimizers that were not prepared. Each calls `prepares` with the names of the gradients
 * that it computes or applies. If that returns true, the optimizer has been prepared, and its own
 * methods take over.
 */
export function watchOptimizers(prepares: (optimizer: Optimizer, names: readonly string[]) => boolean): Undo {
  const undos = CLASSES.map(({ prototype }) => watchApply(prototype, prepares));
  undos.push(
    patch(Optimizer.prototype, 'computeGradients', (own) => {
      return function (this: Optimizer, ...args) {
        const result = own.apply(this, args);
        prepares(this, Object.keys(result.grads));
        return result;
      };
    }),
  );
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

function watchApply(
  prototype: Optimizer,
  prepares: (optimizer: Optimizer, names: readonly string[]) => boolean,
): Undo {
  return patch(prototype, 'applyGradients', (own) => {
    return function (this: Optimizer, given) {
      const names = Array.isArray(given) ? given.map(({ name }) => name) : Object.keys(given);
      if (prepares(this, names)) this.applyGradients(given as NamedTensorMap);
      else own.call(this, given);
    };
  });
}
