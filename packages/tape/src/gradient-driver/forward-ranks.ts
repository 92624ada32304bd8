import type { Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/** The ranks whose forward passes of a model communicate. */
export interface ForwardRanks {
  /** The ranks that compute the same rows together. They give the model the same inputs. */
  readonly sameRows: Collective;
  /**
   * All of them. Ranks with other rows have parts of the weights, so all run the same number of
   * forward passes.
   */
  readonly all: Collective;
  /** Releases the weights that passes have gathered. Inside a gradient, its end does it. */
  release(): void;
}

/** Undefined for a variable of which this rank has all elements. */
export type FindRanks = (variable: Variable) => ForwardRanks | undefined;
