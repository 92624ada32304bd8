import { parseOptions } from '@acc/contract';
import {
  randomBelow,
  randomWords,
  requireEach,
  requireNumbers,
  samplerError,
  type Sampler,
} from '@acc/formats';
import * as z from 'zod';
import { stepsShape, type DifficultySchedule } from './difficulty-schedule.js';

export interface CurriculumSamplerOptions {
  /** The largest difficulty of each step: `difficultySchedule(…)`, or any function. */
  readonly schedule: DifficultySchedule;
  /**
   * The number of samples of one optimizer step: those of all ranks and micro-batches. Steps are
   * counted by samples, over all epochs, so the order is the same on any number of ranks.
   */
  readonly samplesPerStep: number;
  /**
   * `value` (default): samples whose difficulty is at most that of the step. `percentile`: the
   * easiest samples, as many percent of all as the difficulty of the step says.
   */
  readonly by?: 'value' | 'percentile';
}

const schema = z.object({
  ...stepsShape,
  by: z.enum(['value', 'percentile']).default('value'),
});

/**
 * Curriculum learning: easy samples first. Each step draws from the samples whose difficulty the
 * schedule admits, without repetition until all of them were drawn; then they are drawn again. An
 * epoch has as many samples as the dataset. Once the schedule admits all of them, each epoch has
 * every sample once. (Y. Bengio et al., Curriculum learning, 2009; the schedules are DeepSpeed's.)
 *
 * @param difficulties The difficulty of each sample.
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; `ACC_DATA_SAMPLER`, also if a step
 * admits no sample.
 */
export function curriculumSampler(
  difficulties: ArrayLike<number>,
  options: CurriculumSamplerOptions,
): Sampler {
  const { schedule, samplesPerStep, by } = parseOptions('curriculumSampler', schema, options);
  const isDifficulty = (value: number) => !Number.isNaN(value);
  requireNumbers('curriculumSampler: difficulties', difficulties, isDifficulty, 'Difficulties are numbers.');
  const byDifficulty = Int32Array.from({ length: difficulties.length }, (_, i) => i).sort(
    (a, b) => difficulties[a]! - difficulties[b]! || a - b,
  );
  const admittedAt = (step: number): number => {
    const limit = schedule(step);
    if (by === 'percentile') {
      return Math.min(Math.ceil((byDifficulty.length * limit) / 100), byDifficulty.length);
    }
    return countUpTo(byDifficulty, difficulties, limit);
  };
  return {
    size: (samples) => samples,
    order({ samples, seed, epoch }) {
      requireEach('curriculumSampler', difficulties.length, samples);
      const draw = randomWords(seed, epoch);
      const order = new Int32Array(samples);
      const left = new Int32Array(samples);
      let leftCount = 0;
      let admitted = 0;
      let step = -1;
      for (let place = 0; place < samples; place++) {
        const now = Math.floor((epoch * samples + place) / samplesPerStep);
        if (now !== step) {
          step = now;
          const count = admittedAt(step);
          if (!(count > 0)) throw nothingAdmitted(step, schedule(step));
          for (; admitted < count; admitted++) left[leftCount++] = byDifficulty[admitted]!;
        }
        if (leftCount === 0) {
          left.set(byDifficulty.subarray(0, admitted));
          leftCount = admitted;
        }
        const drawn = randomBelow(draw, leftCount);
        order[place] = left[drawn]!;
        left[drawn] = left[--leftCount]!;
      }
      return order;
    },
  };
}

/** The number of samples, sorted by difficulty, that are not more difficult than `limit`. */
function countUpTo(sorted: Int32Array, difficulties: ArrayLike<number>, limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (difficulties[sorted[middle]!]! <= limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

function nothingAdmitted(step: number, difficulty: number): Error {
  return samplerError(
    `curriculumSampler: no sample is as easy as step ${step} demands, whose difficulty is ${difficulty}`,
    'Start the schedule at a difficulty that some samples have.',
    { step, difficulty },
  );
}
