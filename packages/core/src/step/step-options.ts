import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer, ListMath, Plugin, Strategy } from '@acc/contract';
import type { GradientAccumulation } from '@acc/grad-accumulation';
import type { Feature } from '../presets/composes.js';
import type { GradientClipping } from './clipping.js';
import type { CurrentBatch } from './current-batch.js';
import type { StepRanks } from './step-ranks.js';
import type { TrainedVariables } from './trained-variables.js';

/** The parts of a training step that plugins and prepared data use, too. */
export interface StepParts {
  readonly batch: CurrentBatch;
  /** The variables whose gradients are reduced. */
  readonly trained: TrainedVariables;
  readonly accumulation: GradientAccumulation;
  readonly clipping: GradientClipping;
}

/** The inputs of the training step of an Accelerator. */
export interface TrainingStepOptions extends StepRanks, StepParts {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  /** See `PassOptions.mixesRanks`. */
  readonly mixesRanks: boolean;
  /** Whether weights must not depend on the number of ranks. */
  readonly isDeterministic: boolean;
  /** The features of the run, for calls that do not go with all of them. */
  readonly features: ReadonlySet<Feature>;
  readonly lists: ListMath;
  /** @throws AccError if a step of `variables` may not be taken now. */
  readonly requireTurn?: (variables: readonly Variable[]) => void;
  /**
   * The recorder is read on each use, because the active backend may change. Calls of the strategy
   * and of plugins are not recorded. Every replay repeats them. Not a getter of these options: V8
   * keeps an object literal with a getter as a dictionary, and each step reads and copies options.
   */
  readonly kernels: Pick<KernelLayer, 'recorder' | 'random'>;
}
