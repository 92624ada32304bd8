/** The size of a batch that is measured. */
export interface BatchSize {
  readonly rows: number;
  /** The size of other dims that the model leaves open, on all ranks that have shards of them. */
  readonly openDim: number;
}

const SMALLEST: BatchSize = { rows: 4, openDim: 8 };
/** A batch is at most this many times larger than the smallest. */
const MOST_GROWTH = 64;
/** A batch whose layers take as long, in milliseconds, is large enough. */
const ENOUGH_MS = 100;

const growthOf = ({ rows, openDim }: BatchSize): number =>
  (rows / SMALLEST.rows) * (openDim / SMALLEST.openDim);

/**
 * The costs of layers on the largest batch of a series that grows four times in each step, half of it
 * in open dims if there are any. In a small batch, calls take longer than what they compute. The
 * series ends with a batch that takes 100 ms, or is 64 times the first. A model may limit open dims,
 * as a table of positions does: then only rows grow. If it cannot run on more rows, the costs are
 * those of the batch before.
 *
 * @param growsOpenDims Whether the model leaves dims open besides that of rows, which may grow.
 * @param measure The costs on a batch, in milliseconds, or why they cannot be measured.
 * @throws The error of `measure` on the first batch.
 */
export function costsOfGrowingBatches(
  growsOpenDims: boolean,
  measure: (size: BatchSize) => readonly number[] | Error,
): readonly number[] {
  let largest = SMALLEST;
  let found = measure(largest);
  if (found instanceof Error) throw found;
  let isLonger = growsOpenDims;
  while (growthOf(largest) < MOST_GROWTH && sumOf(found) < ENOUGH_MS) {
    const size: BatchSize = isLonger
      ? { rows: largest.rows * 2, openDim: largest.openDim * 2 }
      : { ...largest, rows: largest.rows * 4 };
    const costs = measure(size);
    if (!(costs instanceof Error)) {
      found = costs;
      largest = size;
    } else if (isLonger) isLonger = false;
    else break;
  }
  return found;
}

const sumOf = (numbers: readonly number[]): number => numbers.reduce((sum, each) => sum + each, 0);
