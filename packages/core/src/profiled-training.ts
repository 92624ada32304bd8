import type { Tensor } from '@tensorflow/tfjs-core';
import { optimizerStateOf } from './presets/kernels.js';
import type { PreparedObjects } from './prepare/prepared-objects.js';
import type { TrainedVariables } from './step/trained-variables.js';

/** The tensors and models of a training, as a profile asks for them. */
export function profiledTraining(trained: TrainedVariables, prepared: PreparedObjects) {
  return {
    parameters: (): readonly Tensor[] => trained.known,
    optimizerState: (): readonly Tensor[] =>
      prepared.optimizers.flatMap((optimizer) => {
        const state = optimizerStateOf(optimizer);
        if (!state) return [];
        const slots = Object.values(state.slots).flatMap((list) => list.map(({ variable }) => variable));
        return [...slots, ...state.scalars];
      }),
    models: (): Iterable<object> => prepared.models,
  };
}
