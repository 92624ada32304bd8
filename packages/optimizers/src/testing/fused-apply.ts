import { backend, getBackend, type Optimizer } from '@tensorflow/tfjs-core';
import { kernelLayerOf } from '@acc/kernels';

/** The fused steps of an optimizer on the active backend. Undefined: it has none. */
export function fusedApply(optimizer: Optimizer): Optimizer['applyGradients'] | undefined {
  return kernelLayerOf(getBackend(), backend()).fusedApply?.(optimizer);
}
