import type { Step } from './batch-counts.js';
import type { IndexedSource } from './sample-source.js';
import { countSteps, epochSamples, layoutStep, stepSamples, type Deal } from './step-layout.js';

export interface EpochPlan {
  readonly deal: Deal;
  readonly rank: number;
  readonly dropLast: boolean;
}

/** The number of batches of this rank in an epoch of `samples` samples. */
export function epochLength(samples: number, { deal, rank, dropLast }: EpochPlan): number {
  return countSteps(epochSamples(samples, deal, dropLast), rank, deal);
}

/**
 * Yields one rank's steps through data with numbered samples.
 *
 * @param order The order of the samples. Undefined: the order of the data.
 * @param from The number of samples to skip.
 */
export async function* indexedSteps(
  source: IndexedSource,
  plan: EpochPlan,
  order: Int32Array | undefined,
  from: number,
): AsyncGenerator<Step<unknown>> {
  const { deal, rank } = plan;
  // Steps are counted from `from`. If a checkpoint was made with another number of ranks, `from`
  // may lie within a step of this number of ranks.
  const samples = from + epochSamples(Math.max(source.length - from, 0), deal, plan.dropLast);
  const steps = countSteps(samples - from, rank, deal);
  for (let step = 0; step < steps; step++) {
    const first = from + step * stepSamples(deal);
    const real = samples - first;
    const { starts, rows, realRows } = layoutStep(real, deal);
    const indices = new Int32Array(rows[rank]!);
    for (let i = 0; i < indices.length; i++) {
      const slot = starts[rank]! + i;
      const position = slot < real ? first + slot : (slot - real) % samples;
      indices[i] = order ? order[position]! : position;
    }
    const batch = await source.batch(indices);
    const end = first + Math.min(real, stepSamples(deal));
    yield { batch, counts: { rows, realRows, isLast: step === steps - 1 }, end };
  }
}
