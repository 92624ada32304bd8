import type { Collective, KernelLayer, Plugin, Stateful, Strategy } from '@acc/contract';
import type { FitProgress } from '../fit/fit-progress.js';
import type { DataPreparation } from '../prepare/prepare-data.js';
import type { Preparation } from '../prepare/prepare.js';
import type { TrainingStep } from '../step/training-step.js';

/** The parts of a run that its checkpoints read and restore. */
export interface RunContext {
  readonly collective: Collective;
  readonly kernels: KernelLayer;
  readonly strategy: Strategy;
  /**
   * The ranks that compute the same wherever tensors are whole, and draw the same random numbers.
   * Undefined: each rank has rows of its own.
   */
  readonly alike: Collective | undefined;
  readonly plugins: readonly Plugin[];
  readonly trainingStep: TrainingStep;
  readonly preparation: Preparation;
  readonly data: DataPreparation;
  readonly fit: FitProgress;
  /** The objects given to `registerForCheckpointing`, in their order. */
  readonly registered: readonly Stateful[];
}
