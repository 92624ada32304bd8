import type { Optimizer, Tensor } from '@tensorflow/tfjs-core';
import type { LayersModel } from '@tensorflow/tfjs-layers';

/** Disposes optimizers. tfjs's momentum and RMSProp leave a tensor with their learning rate. */
export function disposeOptimizers(...optimizers: readonly Optimizer[]): void {
  for (const optimizer of optimizers) {
    optimizer.dispose();
    const { c } = optimizer as unknown as { c?: Tensor };
    c?.dispose();
  }
}

/** Disposes models and the optimizers that they were compiled with. tfjs leaves the optimizers. */
export function disposeModels(...models: readonly LayersModel[]): void {
  for (const model of models) {
    model.dispose();
    disposeOptimizers(model.optimizer);
  }
}
