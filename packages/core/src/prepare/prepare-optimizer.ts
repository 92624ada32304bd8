import type { NamedTensorMap, Optimizer, Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { patch, type Undo } from '@acc/tfjs-internals';
import type { StepPipeline } from '../step/step-pipeline.js';

type NamedTensor = { name: string; tensor: NamedTensorMap[string] };

export interface PrepareOptimizerContext {
  readonly pipeline: StepPipeline;
  readonly kernels: KernelLayer;
  /** Prepares what the optimizer is about to train; without a list, all trainable variables. */
  readonly adopt: (list: readonly Variable[] | undefined) => void;
}

/**
 * Puts the pipeline in front of `optimizer.applyGradients`, in which `minimize` and `fit` end, and has `computeGradients`, in which
 * they begin, prepare the variables first.
 */
export function prepareOptimizer(optimizer: Optimizer, context: PrepareOptimizerContext): Undo {
  const { pipeline, kernels, adopt } = context;
  pipeline.names.add(optimizer);
  // It looks at the optimizer's own method, so it is asked before the patch.
  const fused = kernels.fusedApply?.(optimizer);
  const undos = [
    patch(optimizer, 'computeGradients', (own) => (f, list) => {
      adopt(list);
      const compute = () => pipeline.trained.seekingCandidates(() => own.call(optimizer, f, list));
      // Without a list all variables are asked for, of whatever model.
      return list ? compute() : pipeline.names.ofOptimizer(optimizer, compute);
    }),
    patch(optimizer, 'applyGradients', (own) => (given: NamedTensorMap | NamedTensor[]) => {
      // tfjs takes a list as well, whose order is that of the variables.
      const grads = Array.isArray(given)
        ? Object.fromEntries(given.map(({ name, tensor }) => [name, tensor]))
        : given;
      pipeline.apply(optimizer, grads, (changed) => {
        const all = Array.isArray(given) ? listed(given, changed) : changed;
        if (fused) fused(all);
        else own.call(optimizer, all);
      });
      // Who gave a list knows nothing of the tensors that took the place of its own.
      if (Array.isArray(given)) {
        for (const { name, tensor } of given) if (grads[name] !== tensor) grads[name]?.dispose();
      }
    }),
  ];
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/** The record as a list: what was given in its order, then what other ranks have besides, or a strategy updates instead. */
function listed(given: readonly NamedTensor[], record: NamedTensorMap): NamedTensor[] {
  const names = new Set([
    ...given.map(({ name }) => name).filter((name) => name in record),
    ...Object.keys(record),
  ]);
  return [...names].map((name) => ({ name, tensor: record[name]! }));
}
