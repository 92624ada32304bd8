import { backend } from '@tensorflow/tfjs-core';
import { AccBackend } from '../backend.js';

/**
 * The backend `acc` while it is active. For what this layer has put into tfjs for good, which runs on every backend: gradients,
 * losses, what tfjs saves. All else asks the slots of the active backend.
 */
export function activeAcc(): AccBackend | undefined {
  const active = backend();
  return active instanceof AccBackend ? active : undefined;
}
