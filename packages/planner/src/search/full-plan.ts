import type { OffloadPlan, PlanOptions } from '../options.js';
import type { Breakdown } from '../breakdown.js';

/** A plan with all choices, as `predict` takes it. */
export interface FullPlan extends Required<
  Omit<PlanOptions, 'mesh' | 'offload' | 'fused' | 'scatterGather'>
> {
  readonly mesh: Required<PlanOptions['mesh']>;
  /** Null: nothing. */
  readonly offload: OffloadPlan | null;
}

export type StepPart = Exclude<keyof Breakdown, 'recomputed'>;
