import type { Histogram, Limits } from './histogram.js';

/** The numbers of int8. */
const LEVELS = 256;
/** The share of the values by which a limit moves in a step. */
const STEP = 1e-5;
/** The parts of the whole range that are tried. */
const SHARES = 100;

/**
 * The range of PyTorch's `HistogramObserver`: its limits move inwards past the values that are fewest, for as long
 * as the sum of squared errors of the values in all bins does not grow.
 */
export function smallestNormRange(histogram: Histogram): Limits {
  const { counts, least, width } = histogram;
  const below = runningSums(counts);
  const total = below.at(-1)!;
  let [first, last] = [0, counts.length - 1];
  let [alpha, beta] = [0, 1];
  let smallest = Infinity;
  while (alpha < beta) {
    const [nextAlpha, nextBeta] = [alpha + STEP, beta - STEP];
    let [left, right] = [first, last];
    while (left < last && below[left]! < nextAlpha * total) left++;
    while (right > first && below[right]! > nextBeta * total) right--;
    const movesLeft = left - first > last - right;
    if (movesLeft) alpha = nextAlpha;
    else beta = nextBeta;
    const next: Limits = movesLeft ? [left, last] : [first, right];
    if (next[0] === first && next[1] === last) continue;
    const norm = squaredErrors(histogram, next);
    if (norm > smallest) break;
    [smallest, first, last] = [norm, ...next];
  }
  return [least + width * first, least + width * (last + 1)];
}

function runningSums(counts: Readonly<Float64Array>): Float64Array {
  let sum = 0;
  return counts.map((count) => (sum += count));
}

/** The squared errors if the bins from `first` to `last` have all numbers, and values are spread over a bin. */
function squaredErrors({ counts, width }: Histogram, [first, last]: Limits): number {
  const step = (width * (last - first + 1)) / LEVELS;
  if (step === 0) return 0;
  const levelOf = (x: number) => Math.min(LEVELS - 1, Math.max(0, Math.floor(x / step)));
  let sum = 0;
  for (const [bin, count] of counts.entries()) {
    const [begin, end] = [(bin - first) * width, (bin - first + 1) * width];
    const [from, to] = [levelOf(begin), levelOf(end)];
    const inFirst = cubes(begin - (from + 0.5) * step, step / 2);
    const between = (to - from - 1) * cubes(-step / 2, step / 2);
    const inLast = cubes(-step / 2, end - (to + 0.5) * step);
    sum += (count / width) * (inFirst + between + inLast);
  }
  return sum;
}

/** The integral of squares. */
const cubes = (from: number, to: number): number => (to ** 3 - from ** 3) / 3;

/**
 * The share of the whole range, in hundredths, whose rounding has the least mean squared error for the middles of
 * the bins. Both limits are multiplied with it.
 */
export function leastErrorRange(histogram: Histogram): Limits {
  const { least, largest } = histogram;
  let [best, smallest] = [1, Infinity];
  for (let part = SHARES; part > 0; part--) {
    const share = part / SHARES;
    const error = roundingError(histogram, [least * share, largest * share]);
    if (error < smallest) [best, smallest] = [share, error];
  }
  return [least * best, largest * best];
}

function roundingError({ counts, width, least: from }: Histogram, [least, largest]: Limits): number {
  const [low, high] = [Math.min(least, 0), Math.max(largest, 0)];
  const scale = Math.max((high - low) / (LEVELS - 1), Number.MIN_VALUE);
  const zero = Math.min(LEVELS - 1, Math.max(0, -Math.round(low / scale)));
  let sum = 0;
  for (const [bin, count] of counts.entries()) {
    if (count === 0) continue;
    const x = from + (bin + 0.5) * width;
    const number = Math.min(LEVELS - 1, Math.max(0, Math.round(x / scale) + zero));
    sum += count * (x - (number - zero) * scale) ** 2;
  }
  return sum;
}
