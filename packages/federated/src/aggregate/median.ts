import { trimmedMeanOf } from './trimmed-mean.js';
import type { ClientUpdate } from './update.js';

/**
 * The median of each coordinate, not weighted by samples. For an even number of clients it is the
 * mean of the two values in the middle. As long as more than half of the clients are honest, each
 * coordinate lies between values of honest clients.
 *
 * Source: Yin et al., "Byzantine-Robust Distributed Learning: Towards Optimal Statistical Rates"
 * (ICML 2018), definition 1.
 */
export function coordinateMedian(updates: readonly ClientUpdate[]): Float64Array {
  return trimmedMeanOf(updates, Math.floor((updates.length - 1) / 2));
}
