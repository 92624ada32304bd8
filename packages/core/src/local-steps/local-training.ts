import type { Accelerator } from '../accelerator.js';
import type { LocalTraining } from './local-steps.js';

const offered = new WeakMap<Accelerator, LocalTraining>();

/** Called by the Accelerator to share components that are not public. */
export function offerLocalTraining(accelerator: Accelerator, training: LocalTraining): void {
  offered.set(accelerator, training);
}

export function localTrainingOf(accelerator: Accelerator): LocalTraining {
  return offered.get(accelerator)!;
}
