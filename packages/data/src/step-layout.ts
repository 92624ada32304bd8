import { splitRows, type RowRange } from './split-rows.js';

/** How the samples of a loader are distributed to ranks. */
export interface Deal {
  /**
   * The number of samples in a batch of one rank. With `splitBatches`, in the batches of all ranks
   * in one step.
   */
  readonly batchSize: number;
  readonly size: number;
  readonly splitBatches: boolean;
  /** Whether a rank without samples in the last step gets a batch from the start of the epoch. */
  readonly fills: boolean;
  /** Whether all ranks share a loader's last step evenly if it is not full. It is then not filled. */
  readonly sharesLast: boolean;
}

/**
 * The slots of each rank in one step. Slots are numbered from 0 in the order of the data. Slots
 * that are filled come after all real ones, in batches of their own.
 */
export interface StepLayout {
  readonly starts: readonly number[];
  readonly rows: readonly number[];
  readonly realRows: readonly number[];
}

/** A rank, or all of them: one rank reads the batches of all. */
export type Reader = number | 'all';

/** The slots of a reader in one step. Those of all ranks are in the order of ranks. */
export function slotsOf({ starts, rows }: StepLayout, reader: Reader): Int32Array {
  const ranks = reader === 'all' ? [...rows.keys()] : [reader];
  const slots = new Int32Array(ranks.reduce((sum, rank) => sum + rows[rank]!, 0));
  let i = 0;
  for (const rank of ranks) {
    for (let row = 0; row < rows[rank]!; row++) slots[i++] = starts[rank]! + row;
  }
  return slots;
}

/** The number of samples of all ranks in a full step. */
export function stepSamples({ batchSize, size, splitBatches }: Deal): number {
  return splitBatches ? batchSize : batchSize * size;
}

/**
 * The number of `samples` that are yielded. With `dropLast`, only steps that are full on all ranks
 * together count.
 */
export function epochSamples(samples: number, deal: Deal, dropLast: boolean): number {
  return dropLast ? samples - (samples % stepSamples(deal)) : samples;
}

/**
 * @param real The number of samples that are left. Those beyond a full step belong to later steps.
 */
export function layoutStep(real: number, deal: Deal): StepLayout {
  const { batchSize, size, splitBatches, fills, sharesLast } = deal;
  const full = stepSamples(deal);
  const cut = (slots: number): RowRange[] => {
    const isSplit = splitBatches || (sharesLast && slots < full);
    return isSplit ? splitRows(slots, size) : cutRows(slots, batchSize, size);
  };
  const own = cut(Math.min(real, full));
  const realRows = own.map(({ count }) => count);
  if (!fills || sharesLast) return { starts: own.map(({ start }) => start), rows: realRows, realRows };
  const rows = cut(full).map(({ count }, rank) => realRows[rank]! || count);
  let next = 0;
  return { starts: rows.map((count) => (next += count) - count), rows, realRows };
}

/** The number of steps in which the reader gets a batch, in an epoch of `samples` samples. */
export function countSteps(samples: number, reader: Reader, deal: Deal): number {
  const full = Math.floor(samples / stepSamples(deal));
  const rest = samples % stepSamples(deal);
  if (rest === 0) return full;
  const { rows } = layoutStep(rest, deal);
  return (reader === 'all' ? rows.some((count) => count > 0) : rows[reader]! > 0) ? full + 1 : full;
}

/**
 * Cuts rows into parts of `partRows` rows each. Later parts are shorter or empty if there are not
 * enough rows.
 */
function cutRows(rows: number, partRows: number, parts: number): RowRange[] {
  return Array.from({ length: parts }, (_, i) => ({
    start: i * partRows,
    count: Math.min(Math.max(rows - i * partRows, 0), partRows),
  }));
}
