import type { NamedTensorMap, Optimizer, Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { patch, type Undo } from '@acc/tfjs-internals';
import type { StepPipeline } from '../step/step-pipeline.js';

type NamedTensor = { name: string; tensor: NamedTensorMap[string] };

export interface PrepareOptimizerContext {
  readonly pipeline: StepPipeline;
  readonly kernels: KernelLayer;
  /**
   * Prepares the variables that the optimizer is about to train. Without a list, all trainable
   * variables.
   */
  readonly adopt: (list: readonly Variable[] | undefined) => void;
}

/**
 * Inserts the pipeline before `optimizer.applyGradients`, in which `minimize` and `fit` end. Makes
 * `computeGradients`, with which they begin, prepare the variables first.
 */
export function prepareOptimizer(optimizer: Optimizer, context: PrepareOptimizerContext): Undo {
  const { pipeline, kernels, adopt } = context;
  pipeline.names.add(optimizer);
  // Created before the patch, because it inspects the optimizer's own method.
  const fused = kernels.fusedApply?.(optimizer);
  const undos = [
    patch(optimizer, 'computeGradients', (own) => (f, list) => {
      adopt(list);
      const compute = () => pipeline.trained.seekingCandidates(() => own.call(optimizer, f, list));
      // Without a list gradients of all variables are computed, whichever model they belong to.
      return list ? compute() : pipeline.names.ofOptimizer(optimizer, compute);
    }),
    patch(optimizer, 'applyGradients', (own) => (given: NamedTensorMap | NamedTensor[]) => {
      // tfjs also accepts a list, in the order of the variables.
      const grads = Array.isArray(given)
        ? Object.fromEntries(given.map(({ name, tensor }) => [name, tensor]))
        : given;
      pipeline.apply(optimizer, grads, (changed) => {
        const all = Array.isArray(given) ? listed(given, changed) : changed;
        if (fused) fused(all);
        else own.call(optimizer, all);
      });
      // A caller that gave a list does not know the tensors that replaced its own.
      if (Array.isArray(given)) {
        for (const { name, tensor } of given) if (grads[name] !== tensor) grads[name]?.dispose();
      }
    }),
  ];
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
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
