import { splitRows, type RowRange } from './split-rows.js';

/** How the samples of a loader are dealt out to ranks. */
export interface Deal {
  /** Samples of a rank's batch; with `splitBatches`, of all ranks' batches of a step together. */
  readonly batchSize: number;
  readonly size: number;
  readonly splitBatches: boolean;
  /** A step that is not full is filled. */
  readonly fills: boolean;
  /** A loader's last step that is not full is shared by all ranks, as equally as can be, and not filled. */
  readonly sharesLast: boolean;
}

/** Which of a step's slots each rank has. Slots count from 0 in the order of the data; real ones come first. */
export interface StepLayout {
  readonly starts: readonly number[];
  readonly rows: readonly number[];
  readonly realRows: readonly number[];
}

/** Samples of all ranks in a full step. */
export function stepSamples({ batchSize, size, splitBatches }: Deal): number {
  return splitBatches ? batchSize : batchSize * size;
}

/** How many of `samples` are given out: all of them, or with `dropLast` those of steps that are full on all ranks together. */
export function epochSamples(samples: number, deal: Deal, dropLast: boolean): number {
  return dropLast ? samples - (samples % stepSamples(deal)) : samples;
}

/** @param real Samples of the data that are left for this step; those beyond a full step are another's. */
export function layoutStep(real: number, deal: Deal): StepLayout {
  const { batchSize, size, splitBatches, fills, sharesLast } = deal;
  const slots = fills && !sharesLast ? stepSamples(deal) : Math.min(real, stepSamples(deal));
  const isSplit = splitBatches || (sharesLast && slots < stepSamples(deal));
  const parts = isSplit ? splitRows(slots, size) : cutRows(slots, batchSize, size);
  return {
    starts: parts.map(({ start }) => start),
    rows: parts.map(({ count }) => count),
    realRows: parts.map(({ start, count }) => Math.min(Math.max(real - start, 0), count)),
  };
}

/** How many steps of an epoch of `samples` give the rank a batch. */
export function countSteps(samples: number, rank: number, deal: Deal): number {
  const full = Math.floor(samples / stepSamples(deal));
  const rest = samples % stepSamples(deal);
  return rest > 0 && layoutStep(rest, deal).rows[rank]! > 0 ? full + 1 : full;
}

/** Parts of `partRows` rows each, as far as the rows go. */
function cutRows(rows: number, partRows: number, parts: number): RowRange[] {
  return Array.from({ length: parts }, (_, i) => ({
    start: i * partRows,
    count: Math.min(Math.max(rows - i * partRows, 0), partRows),
  }));
}
