import type { Step } from './batch-counts.js';
import {
  countSteps,
  epochSamples,
  layoutStep,
  slotsOf,
  stepSamples,
  type Deal,
  type Reader,
} from './step-layout.js';

export interface EpochPlan {
  readonly deal: Deal;
  readonly rank: Reader;
  readonly dropLast: boolean;
}

/** The number of batches of this rank in an epoch of `samples` samples. */
export function epochLength(samples: number, { deal, rank, dropLast }: EpochPlan): number {
  return countSteps(epochSamples(samples, deal, dropLast), rank, deal);
}

/** The samples of an epoch, and their order. */
export interface EpochOrder {
  /** The order of the samples. Undefined: the order of the data. */
  readonly order: Int32Array | undefined;
  /** The number of samples to skip. */
  readonly from: number;
}

/** The samples of one batch, and the counts of all ranks. */
export interface PlannedBatch extends Omit<Step<unknown>, 'batch'> {
  /** The samples of the reader, `[rows]`. */
  readonly indices: Int32Array;
  /** The position in the epoch at which the step starts. */
  readonly start: number;
}

/** A reader's steps through data with `length` numbered samples. */
export function* planSteps(
  length: number,
  plan: EpochPlan,
  { order, from }: EpochOrder,
): Generator<PlannedBatch, void, undefined> {
  const { deal, rank } = plan;
  // Steps are counted from `from`. If a checkpoint was made with another number of ranks, `from`
  // may lie within a step of this number of ranks.
  const available = order?.length ?? length;
  const samples = from + epochSamples(Math.max(available - from, 0), deal, plan.dropLast);
  const steps = countSteps(samples - from, rank, deal);
  for (let step = 0; step < steps; step++) {
    const start = from + step * stepSamples(deal);
    const real = samples - start;
    const layout = layoutStep(real, deal);
    const { rows, realRows } = layout;
    const indices = slotsOf(layout, rank);
    for (let i = 0; i < indices.length; i++) {
      const slot = indices[i]!;
      const position = slot < real ? start + slot : (slot - real) % samples;
      indices[i] = order ? order[position]! : position;
    }
    const end = start + Math.min(real, stepSamples(deal));
    yield { indices, counts: { rows, realRows, isLast: step === steps - 1 }, start, end };
  }
}

/** Makes the batches of planned steps, one after the other. */
export async function* indexedSteps(
  planned: Iterable<PlannedBatch>,
  make: (step: PlannedBatch) => unknown,
): AsyncGenerator<Step<unknown>> {
  for (const step of planned) {
    yield { batch: await make(step), counts: step.counts, end: step.end };
  }
}
