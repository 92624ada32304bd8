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
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { RecordedAction } from '@acc/contract';
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

type NamedTensors = NamedTensorMap | { readonly name: string; readonly tensor: Tensor }[];

export interface OptimizerWatch {
  /** Returns true if it has prepared the optimizer that computes or applies gradients of these names. */
  readonly prepares: (optimizer: Optimizer, names: readonly string[]) => boolean;
  /** The optimizer, which is not prepared, applies these gradients. */
  readonly appliesAlone: (grads: readonly Tensor[]) => void;
  /** Runs JavaScript of an optimizer that each replay of a recorded step runs again. */
  readonly runAction: (optimizer: Optimizer, inputs: readonly Tensor[], action: RecordedAction) => void;
}

/**
 * Watches optimizers that were not prepared. Each asks `prepares`. If that returns true, the
 * optimizer's own methods take over. Else it applies gradients as it does without an Accelerator,
 * with the learning rate that it has in each replay.
 */
export function watchOptimizers(watch: OptimizerWatch): Undo {
  const undos = CLASSES.map(({ prototype }) => watchApply(prototype, watch));
  undos.push(
    patch(Optimizer.prototype, 'computeGradients', 'unprepared optimizers', (own) => {
      return function (this: Optimizer, ...args) {
        const result = own.apply(this, args);
        watch.prepares(this, Object.keys(result.grads));
        return result;
      };
    }),
  );
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

function watchApply(prototype: Optimizer, { prepares, appliesAlone, runAction }: OptimizerWatch): Undo {
  return patch(prototype, 'applyGradients', 'unprepared optimizers', (own) => {
    return function (this: Optimizer, given) {
      const named = listOf(given as NamedTensors);
      const names = named.map(({ name }) => name);
      if (prepares(this, names)) {
        this.applyGradients(given as NamedTensorMap);
        return;
      }
      const inputs = named.flatMap(({ tensor }) => tensor ?? []);
      appliesAlone(inputs);
      runAction(this, inputs, (tensors) => {
        const left = tensors.values();
        // Slots of optimizers belong to places in the list, so null gradients keep theirs.
        const list = named.map(({ name, tensor }) => ({ name, tensor: tensor && left.next().value }));
        own.call(this, tensors === inputs ? given : (list as Extract<typeof given, unknown[]>));
        return [];
      });
    };
  });
}

/** The gradients of a variable on which the loss does not depend may be null. */
function listOf(given: NamedTensors): readonly { readonly name: string; readonly tensor: Tensor | null }[] {
  return Array.isArray(given) ? given : Object.entries(given).map(([name, tensor]) => ({ name, tensor }));
}
