import { parseOptions } from '@acc/contract';
import {
  randomBelow,
  randomWords,
  requireEach,
  requireNumbers,
  samplerError,
  uniform,
  type RandomWords,
  type Sampler,
} from '@acc/formats';
import * as z from 'zod';

export interface WeightedSamplerOptions {
  /** The number of samples of an epoch. Default: as many as the dataset has. */
  readonly samples?: number;
  /**
   * Whether a sample may be drawn several times in one epoch. Default true. Without replacement
   * there must be as many positive weights as samples are drawn.
   */
  readonly replacement?: boolean;
}

const schema = z.object({
  samples: z.int().positive().optional(),
  replacement: z.boolean().default(true),
});

/**
 * Draws samples with probabilities proportional to their weights, for example 1 / (size of the
 * class) to balance classes. With replacement by the alias method (M. Vose, A linear algorithm for
 * generating random numbers with a given distribution, 1991). Without replacement by sorting random
 * keys (P. Efraimidis and P. Spirakis, Weighted random sampling with a reservoir, 2006), which
 * equals drawing one after another from those that are left.
 *
 * @param weights One for each sample, finite and at least 0; their sum is positive.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_SAMPLER`.
 */
export function weightedSampler(weights: ArrayLike<number>, options: WeightedSamplerOptions = {}): Sampler {
  const { samples: wanted, replacement } = parseOptions('weightedSampler', schema, options);
  const values = checkWeights(weights);
  const positive = values.reduce((count, weight) => count + (weight > 0 ? 1 : 0), 0);
  const size = wanted ?? weights.length;
  if (!replacement && size > positive) {
    throw samplerError(
      `weightedSampler: ${size} samples cannot be drawn without replacement, because only ${positive} weights are positive`,
      'Set samples to a smaller number, or replacement to true.',
      { samples: size, positive },
    );
  }
  return {
    size: () => size,
    order({ samples, seed, epoch }) {
      requireEach('weightedSampler', weights.length, samples);
      const draw = randomWords(seed, epoch);
      return replacement ? drawByAliases(values, size, draw) : drawByKeys(values, size, draw);
    },
  };
}

function checkWeights(weights: ArrayLike<number>): Float64Array {
  const expected = 'Weights must be finite numbers from 0, at least one of them positive.';
  const isWeight = (weight: number) => weight >= 0 && Number.isFinite(weight);
  requireNumbers('weightedSampler: weights', weights, isWeight, expected);
  const values = Float64Array.from(weights);
  if (values.some((weight) => weight > 0)) return values;
  throw samplerError('weightedSampler: no weight is positive', expected);
}

function drawByAliases(weights: Float64Array, size: number, draw: RandomWords): Int32Array {
  const n = weights.length;
  const mean = weights.reduce((sum, weight) => sum + weight, 0) / n;
  const threshold = weights.map((weight) => weight / mean);
  const alias = Int32Array.from(weights.keys());
  const small: number[] = [];
  const large: number[] = [];
  threshold.forEach((share, i) => (share < 1 ? small : large).push(i));
  while (small.length > 0 && large.length > 0) {
    const less = small.pop()!;
    const more = large.at(-1)!;
    alias[less] = more;
    threshold[more]! -= 1 - threshold[less]!;
    if (threshold[more]! < 1) small.push(large.pop()!);
  }
  // Rounding may leave columns over. Those of positive weights are full.
  for (const rest of [...small, ...large]) if (weights[rest]! > 0) threshold[rest] = 1;
  return Int32Array.from({ length: size }, () => {
    const column = randomBelow(draw, n);
    return uniform(draw) < threshold[column]! ? column : alias[column]!;
  });
}

function drawByKeys(weights: Float64Array, size: number, draw: RandomWords): Int32Array {
  // The logarithm of u^(1/w): the order is the same, and small powers do not underflow.
  const keys = weights.map((weight) => {
    // Above 0, because its logarithm is taken.
    const u = uniform(draw) + 2 ** -54;
    return weight > 0 ? Math.log(u) / weight : -Infinity;
  });
  return Int32Array.from(keys.keys())
    .sort((a, b) => keys[b]! - keys[a]! || a - b)
    .slice(0, size);
}
