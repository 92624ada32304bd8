import type { NamedTensorMap, Optimizer } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import type { StepPipeline } from '../step/step-pipeline.js';
import type { Undo } from './prepare.js';

type NamedTensor = { name: string; tensor: NamedTensorMap[string] };

/** Puts the pipeline in front of `optimizer.applyGradients`, in which `minimize` and `fit` end. */
export function prepareOptimizer(optimizer: Optimizer, pipeline: StepPipeline, kernels: KernelLayer): Undo {
  const original = optimizer.applyGradients;
  const apply = kernels.fusedApply?.(optimizer) ?? original.bind(optimizer);
  optimizer.applyGradients = (given: NamedTensorMap | NamedTensor[]) => {
    // tfjs takes a list as well, whose order is that of the variables.
    const grads = Array.isArray(given)
      ? Object.fromEntries(given.map(({ name, tensor }) => [name, tensor]))
      : given;
    pipeline.apply(optimizer, grads, (changed) => {
      apply(Array.isArray(given) ? listed(given, changed) : changed);
    });
    // Who gave a list knows nothing of the tensors that took the place of its own.
    if (Array.isArray(given)) {
      for (const { name, tensor } of given) if (grads[name] !== tensor) grads[name]?.dispose();
    }
  };
  return () => {
    optimizer.applyGradients = original;
  };
}

/** The record as a list: what was given in its order, then what other ranks have besides. */
function listed(given: readonly NamedTensor[], record: NamedTensorMap): NamedTensor[] {
  const names = new Set([...given.map(({ name }) => name), ...Object.keys(record)]);
  return [...names].map((name) => ({ name, tensor: record[name]! }));
}
