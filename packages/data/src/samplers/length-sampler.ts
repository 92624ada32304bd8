import { parseOptions } from '@acc/contract';
import { randomWords, requireEach, requireNumbers, shuffledNumbers, type Sampler } from '@acc/formats';
import * as z from 'zod';

export interface LengthSamplerOptions {
  /**
   * The number of samples whose lengths are alike: those of all ranks in one step. A smaller group,
   * such as the batch of one rank, saves more padding, but ranks wait for the one with the longest
   * samples.
   */
  readonly groupSize: number;
  /**
   * The number of groups that are made of samples which are neighbours in the shuffled order.
   * Larger numbers give lengths that are more alike, and groups that are less random. Default 50.
   */
  readonly groupsPerBucket?: number;
}

const schema = z.object({
  groupSize: z.int().positive(),
  groupsPerBucket: z.int().positive().default(50),
});

/**
 * Puts samples of similar length into the same batch, so that little is padded. The samples are
 * shuffled and cut into buckets. Each bucket is sorted by length and cut into groups, and the groups
 * of all buckets are shuffled. Each epoch has every sample once. A last group that is not full
 * comes last.
 *
 * @param lengths The length of each sample.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_DATA_SAMPLER` if the number of
 * lengths is not that of the samples.
 */
export function lengthSampler(lengths: ArrayLike<number>, options: LengthSamplerOptions): Sampler {
  const { groupSize, groupsPerBucket } = parseOptions('lengthSampler', schema, options);
  requireNumbers('lengthSampler: lengths', lengths, Number.isFinite, 'Lengths must be finite numbers.');
  return {
    size: (samples) => samples,
    order({ samples, seed, epoch }) {
      requireEach('lengthSampler', lengths.length, samples);
      const draw = randomWords(seed, epoch);
      const shuffled = shuffledNumbers(samples, draw);
      const bucketSize = groupSize * groupsPerBucket;
      for (let start = 0; start < samples; start += bucketSize) {
        shuffled.subarray(start, start + bucketSize).sort((a, b) => lengths[a]! - lengths[b]! || a - b);
      }
      const groups = shuffledNumbers(Math.floor(samples / groupSize), draw);
      const order = new Int32Array(samples);
      groups.forEach((group, place) => {
        const first = group * groupSize;
        order.set(shuffled.subarray(first, first + groupSize), place * groupSize);
      });
      const grouped = groups.length * groupSize;
      order.set(shuffled.subarray(grouped), grouped);
      return order;
    },
  };
}
