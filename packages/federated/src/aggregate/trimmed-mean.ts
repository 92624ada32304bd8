import type { Aggregator, ClientUpdate } from './update.js';

/**
 * The mean of each coordinate without its largest and its smallest values, not weighted by samples.
 *
 * @param trimRatio The share of values that is left out at each end, from 0 to below 0.5. The
 * number is rounded down.
 *
 * Source: Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates"
 * (ICML 2018), definition 2.
 */
export function trimmedMean(trimRatio: number): Aggregator {
  return (updates) => trimmedMeanOf(updates, Math.floor(trimRatio * updates.length));
}

/** @param trimmed The number of values that are left out at each end. */
export function trimmedMeanOf(updates: readonly ClientUpdate[], trimmed: number): Float64Array {
  const result = new Float64Array(updates[0]!.update.length);
  const column = new Float64Array(updates.length);
  const kept = updates.length - 2 * trimmed;
  for (let i = 0; i < result.length; i++) {
    updates.forEach(({ update }, k) => (column[k] = update[i]!));
    column.sort();
    let sum = 0;
    for (let k = trimmed; k < trimmed + kept; k++) sum += column[k]!;
    result[i] = sum / kept;
  }
  return result;
}
