import type { NamedTensorMap, Optimizer, Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { hasTfjsRule, slotListsOf, withStateOf } from '@acc/kernels';
import { patch, type Undo } from '@acc/tfjs-internals';
import type { TrainingStep } from '../step/training-step.js';

type NamedTensor = { name: string; tensor: NamedTensorMap[string] };

export interface PrepareOptimizerContext {
  readonly trainingStep: TrainingStep;
  readonly kernels: KernelLayer;
  /**
   * Prepares the variables that the optimizer is about to train. Without a list, all trainable
   * variables.
   */
  readonly adopt: (list: readonly Variable[] | undefined) => void;
  readonly warn: (message: string) => void;
}

/**
 * Inserts the training step before `optimizer.applyGradients`, in which `minimize` and `fit` end. Makes
 * `computeGradients`, with which they begin, prepare the variables first.
 */
export function prepareOptimizer(optimizer: Optimizer, context: PrepareOptimizerContext): Undo {
  const { trainingStep, kernels, adopt, warn } = context;
  trainingStep.names.add(optimizer);
  // Created before the patch, because it inspects the optimizer's own method.
  const fused = kernels.fusedApply?.(optimizer);
  const apply = stateByVariable(optimizer, warn);
  const undos = [
    patch(optimizer, 'computeGradients', 'prepared optimizer', (own) => (f, list) => {
      adopt(list);
      const compute = () => trainingStep.trained.seekingCandidates(() => own.call(optimizer, f, list));
      // Without a list gradients of all variables are computed, whichever model they belong to.
      return list ? compute() : trainingStep.names.ofOptimizer(optimizer, compute);
    }),
    patch(
      optimizer,
      'applyGradients',
      'prepared optimizer',
      (own) => (given: NamedTensorMap | NamedTensor[]) => {
        // tfjs also accepts a list, in the order of the variables.
        const grads = Array.isArray(given)
          ? Object.fromEntries(given.map(({ name, tensor }) => [name, tensor]))
          : given;
        trainingStep.apply(optimizer, grads, (changed) => {
          const all = Array.isArray(given) ? listed(given, changed) : changed;
          apply(all, () => (fused ? fused(all) : own.call(optimizer, all)));
        });
        // A caller that gave a list does not know the tensors that replaced its own.
        if (Array.isArray(given)) {
          for (const { name, tensor } of given) if (grads[name] !== tensor) grads[name]?.dispose();
        }
      },
    ),
  ];
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/**
 * A function that takes steps on every engine with each variable's own state. Warns once where tfjs
 * would use another's. Optimizers of this project do so by themselves. A subclass of tfjs's keeps its
 * own way.
 */
function stateByVariable(optimizer: Optimizer, warn: (message: string) => void) {
  let hasWarned = false;
  return (gradients: NamedTensorMap | NamedTensor[], apply: () => void): void => {
    if (!hasTfjsRule(optimizer)) return apply();
    withStateOf(slotListsOf(optimizer)!, gradients, {
      apply,
      misplaced: ({ name, owner }) => {
        if (!hasWarned) warn(differsFromTfjs(name, owner));
        hasWarned = true;
      },
    });
  };
}

function differsFromTfjs(name: string, owner: string): string {
  return (
    `An optimizer trains '${name}' in the place of '${owner}'. Each has its own moments and other state here. ` +
    `tfjs without an Accelerator keeps state by position, and would use that of '${owner}' for '${name}'. ` +
    'If results must equal those of tfjs, give each list of variables an optimizer of its own.'
  );
}

/**
 * The record as a list: first the given gradients in their order, then those that other ranks or a
 * strategy added.
 */
function listed(given: readonly NamedTensor[], record: NamedTensorMap): NamedTensor[] {
  const names = new Set([
    ...given.map(({ name }) => name).filter((name) => name in record),
    ...Object.keys(record),
  ]);
  return [...names].map((name) => ({ name, tensor: record[name]! }));
}
