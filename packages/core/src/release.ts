import { dispose, type TensorContainer } from '@tensorflow/tfjs-core';
import type { Parts } from './assemble.js';
import { uninstallRandom } from './random/math-random.js';
import { setRunning, whatRuns, type Running } from './running.js';

/**
 * Restores the own methods of prepared objects and tfjs, and frees what a running Accelerator
 * holds.
 */
export function release(parts: Parts, running: Running, training: Disposed): void {
  parts.lifetime.free();
  if (whatRuns() === running) setRunning(undefined);
  parts.stopListening();
  uninstallRandom();
  training.dispose();
  parts.preparation.undoAll();
  parts.strategy.detach?.();
  parts.restoreGradients();
  parts.pipeline.dispose();
  parts.determinism?.end();
}

interface Disposed {
  dispose(): void;
}

/** Disposes a model, an optimizer, or the tensors of an array or a record. */
export function disposeAll(object: object): void {
  if ('dispose' in object && typeof object.dispose === 'function') object.dispose();
  else dispose(object as TensorContainer);
}
