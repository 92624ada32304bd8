import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective, GradientAccumulation, ListMath, Plugin, Recorder, Strategy } from '@acc/contract';
import type { GradientClipping } from './clipping.js';

/** What an Accelerator gives to its step pipeline. */
export interface StepPipelineOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  /** The ranks that receive different rows. */
  readonly dataRanks: Collective;
  /** The number of ranks whose gradients are averaged. All ranks of a step call it together. */
  readonly countRanks: () => number;
  /** Whether weights must not depend on the number of ranks. */
  readonly isDeterministic: boolean;
  readonly accumulation: GradientAccumulation;
  readonly clipping: GradientClipping;
  readonly lists: ListMath;
  /** @throws AccError if a step of `variables` may not be taken now. */
  readonly requireTurn?: (variables: readonly Variable[]) => void;
  /** Calls of the strategy and of plugins are not recorded. Every replay repeats them. */
  readonly recorder?: Recorder | undefined;
}
