import type { Collective } from '@acc/contract';

/** The ranks of a step. */
export interface StepRanks {
  /** The ranks that receive different rows. */
  readonly dataRanks: Collective;
  /** The ranks whose gradients are summed: those with different rows or different shards of rows. */
  readonly gradientRanks: Collective;
  /** The number of ranks whose gradients are averaged. All ranks of a step call it together. */
  readonly countRanks: () => number;
}
