import { engine, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import { preparationOf } from '@acc/contract';
import { engineInternals, patch, type Undo } from '@acc/tfjs-internals';
import { trainingHasEnded } from '../lifetime.js';
import { watchOptimizers } from './unprepared-optimizers.js';

/**
 * Refuses to train variables that an Accelerator had prepared: the job has ended, so each rank would
 * train them alone. Losses that depend on them have no gradients, and optimizers do not apply gradients that the
 * program computed by itself.
 */
export function refuseTraining(): Undo {
  const undos = [
    patch(engineInternals(), 'gradients', 'gradients', (own) => (f, xs, ...others) => {
      const result = own.call(engine(), f, xs, ...others);
      // Without a list, minimize asks for the gradients of all trainable variables.
      requireNone(
        xs.filter((_, i) => result.grads[i]),
        'computes gradients of',
      );
      return result;
    }),
    watchOptimizers({
      prepares: (_, names) => {
        const { registeredVariables } = engine();
        requireNone(
          names.flatMap((name) => registeredVariables[name] ?? []),
          'trains',
        );
        return false;
      },
      appliesAlone: () => {},
      runAction: (_, inputs, action) => void action(inputs),
    }),
  ];
  return () => {
    for (const undo of undos.splice(0)) undo();
  };
}

/** @throws AccError `ACC_TRAINING_ENDED` if one of them was prepared. */
function requireNone(tensors: readonly Tensor[], does: string): void {
  const trained = tensors.find((tensor) => preparationOf(tensor)) as Variable | undefined;
  if (trained) throw trainingHasEnded(`A step ${does} '${trained.name}'`);
}
