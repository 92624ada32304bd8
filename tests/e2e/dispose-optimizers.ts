import type { Optimizer, Tensor } from '@tensorflow/tfjs-core';

/** Disposes optimizers. tfjs's momentum and RMSProp leave a tensor with their learning rate. */
export function disposeOptimizers(...optimizers: readonly Optimizer[]): void {
  for (const optimizer of optimizers) {
    optimizer.dispose();
    const { c } = optimizer as unknown as { c?: Tensor };
    c?.dispose();
  }
}
