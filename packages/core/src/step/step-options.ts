import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective, KernelLayer, ListMath, Plugin, Strategy } from '@acc/contract';
import type { GradientAccumulation } from '@acc/grad-accumulation';
import type { Feature } from '../presets/composes.js';
import type { GradientClipping } from './clipping.js';

/** The inputs of the step pipeline of an Accelerator. */
export interface StepPipelineOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  /** The ranks that receive different rows. */
  readonly dataRanks: Collective;
  /** The ranks whose gradients are summed: those with different rows or different pieces of rows. */
  readonly gradientRanks: Collective;
  /** See `PassOptions.mixesRanks`. */
  readonly mixesRanks: boolean;
  /** The number of ranks whose gradients are averaged. All ranks of a step call it together. */
  readonly countRanks: () => number;
  /** Whether weights must not depend on the number of ranks. */
  readonly isDeterministic: boolean;
  /** The features of the run, for calls that do not go with all of them. */
  readonly features: ReadonlySet<Feature>;
  readonly accumulation: GradientAccumulation;
  readonly clipping: GradientClipping;
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
