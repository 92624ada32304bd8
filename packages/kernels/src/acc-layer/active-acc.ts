import { backend } from '@tensorflow/tfjs-core';
import { AccBackend } from '../backend.js';

/**
 * The backend `acc` while it is active, else undefined. Used by code that this layer puts into tfjs
 * for good and that runs on every backend: gradients, losses, and the saving of tensors. All other
 * code asks the slots of the active backend.
 */
export function activeAcc(): AccBackend | undefined {
  const active = backend();
  return active instanceof AccBackend ? active : undefined;
}
