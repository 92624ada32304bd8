import type { Tensor } from '@tensorflow/tfjs-core';
import type { TrackedHistogram } from '@acc/contract';
import { invalidValue } from '../errors.js';
import { isTensor, show, valuesOf } from './values.js';

export type HistogramInput = Tensor | ArrayLike<number>;

/**
 * Counts values in bins of equal width between the minimum and the maximum. A tensor is read and
 * not disposed.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT`.
 */
export function takeHistogram(key: string, input: HistogramInput, bins: number): TrackedHistogram {
  if (!Number.isInteger(bins) || bins < 1) {
    throw invalidValue('logHistogram', `bins is ${show(bins)}`, 'Give a whole number from 1.');
  }
  const values = isTensor(input) ? valuesOf('logHistogram', key, input) : input;
  if (typeof values !== 'object' || values === null || typeof values.length !== 'number') {
    throw invalidValue('logHistogram', `'${key}' is ${show(input)}`, 'Give a tensor or an array of numbers.');
  }
  const { min, max, sum, sumSquares, nonFinite } = summaryOf(values);
  const edges = edgesOf(min, max, bins);
  const counts = new Array<number>(edges.length - 1).fill(0);
  const scale = counts.length / (edges.at(-1)! - edges[0]!);
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) continue;
    const bin = Math.floor((value - edges[0]!) * scale);
    counts[Math.min(Math.max(bin, 0), counts.length - 1)]!++;
  }
  return { edges, counts, min, max, sum, sumSquares, nonFinite };
}

function summaryOf(values: ArrayLike<number>): Omit<TrackedHistogram, 'edges' | 'counts'> {
  let [min, max, sum, sumSquares, nonFinite] = [Infinity, -Infinity, 0, 0, 0];
  for (let i = 0; i < values.length; i++) {
    const value = values[i]!;
    if (!Number.isFinite(value)) {
      nonFinite++;
      continue;
    }
    if (value < min) min = value;
    if (value > max) max = value;
    sum += value;
    sumSquares += value * value;
  }
  return nonFinite === values.length
    ? { min: 0, max: 0, sum: 0, sumSquares: 0, nonFinite }
    : { min, max, sum, sumSquares, nonFinite };
}

/** The edges of the bins. A single value gets one bin around it, so that no bin has zero width. */
function edgesOf(min: number, max: number, bins: number): number[] {
  const width = (max - min) / bins;
  if (!(width > 0)) {
    const half = Math.max(Math.abs(min) * 1e-6, 0.5);
    return [min - half, min + half];
  }
  const edges = Array.from({ length: bins }, (_, i) => min + i * width);
  return [...edges, max];
}
