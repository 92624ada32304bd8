import type { LocalTraining } from './local-steps.js';

/** By Accelerator. */
const offered = new WeakMap<object, LocalTraining>();

/** Called by the Accelerator to share components that are not public. */
export function offerLocalTraining(accelerator: object, training: LocalTraining): void {
  offered.set(accelerator, training);
}

export function localTrainingOf(accelerator: object): LocalTraining {
  return offered.get(accelerator)!;
}
