import type { CurrentBatch } from './current-batch.js';
import type { GradientSync } from './gradient-sync.js';
import type { Limits } from './limits.js';
import type { StepNames } from './step-names.js';
import type { TrainedVariables } from './trained-variables.js';
import type { UnusableGradients } from './unusable-gradients.js';

/** The state that backward passes and optimizer updates share. */
export interface StepState {
  readonly batch: CurrentBatch;
  readonly limits: Limits;
  readonly names: StepNames;
  readonly sync: GradientSync;
  readonly trained: TrainedVariables;
  readonly unusable: UnusableGradients;
}
