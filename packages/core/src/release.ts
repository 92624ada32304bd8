import { dispose, type TensorContainer } from '@tensorflow/tfjs-core';
import type { Components } from './assemble.js';
import { uninstallRandom } from './random/math-random.js';
import { setRunning, whatRuns, type Running } from './running.js';

/**
 * Restores the own methods of prepared objects and tfjs, and frees what a running Accelerator
 * holds.
 */
export function release(components: Components, running: Running, training: Disposed): void {
  components.lifetime.free();
  if (whatRuns() === running) setRunning(undefined);
  components.stopListening();
  uninstallRandom();
  training.dispose();
  components.preparation.undoAll();
  components.strategy.detach?.();
  components.mesh.close();
  components.restoreGradients();
  try {
    components.trainingStep.dispose();
  } finally {
    components.determinism?.end();
  }
}

interface Disposed {
  dispose(): void;
}

/** Disposes a model, an optimizer, or the tensors of an array or a record. */
export function disposeAll(object: object): void {
  if ('dispose' in object && typeof object.dispose === 'function') object.dispose();
  else dispose(object as TensorContainer);
}
