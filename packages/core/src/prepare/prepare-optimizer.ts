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
    pipeline.apply(optimizer, grads, (transformed) => {
      apply(
        Array.isArray(given) ? given.map(({ name }) => ({ name, tensor: transformed[name]! })) : transformed,
      );
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
