import { AccError } from '@acc/contract';
import { fedAvg } from './fed-avg.js';
import { coordinateMedian } from './median.js';
import { trimmedMean } from './trimmed-mean.js';
import type { Aggregator, ClientUpdate } from './update.js';

export const AGGREGATORS = ['fedAvg', 'median', 'trimmedMean'] as const;

export type AggregatorName = (typeof AGGREGATORS)[number];

const DEFAULT_TRIM_RATIO = 0.1;

export function aggregatorOf(
  aggregate: AggregatorName | Aggregator,
  trimRatio: number = DEFAULT_TRIM_RATIO,
): Aggregator {
  if (typeof aggregate === 'function') return aggregate;
  return { fedAvg, median: coordinateMedian, trimmedMean: trimmedMean(trimRatio) }[aggregate];
}

/**
 * The weights after a round.
 *
 * @throws AccError `ACC_FEDERATED_AGGREGATE` if the aggregator gives no finite vector of the right
 * length.
 */
export function applyUpdates(
  weights: Float32Array,
  updates: readonly ClientUpdate[],
  aggregate: Aggregator,
): Float32Array {
  const combined = aggregate(updates);
  if (combined?.length !== weights.length) {
    throw invalid(`it returned ${String(combined?.length)} elements; expected ${weights.length}`);
  }
  const result = weights.map((weight, i) => weight + combined[i]!);
  const wrong = result.findIndex((weight) => !Number.isFinite(weight));
  if (wrong >= 0) throw invalid(`element ${wrong} of the new weights is ${result[wrong]}`);
  return result;
}

function invalid(problem: string): AccError {
  return new AccError('ACC_FEDERATED_AGGREGATE', `The aggregator gave no valid update: ${problem}.`, {
    help: 'Return one finite number for each element of `updates[0].update`.',
  });
}
