import { AccError, parseOptions } from '@acc/contract';
import * as z from 'zod';

/** The difficulty of each step: of the samples that are drawn, or the length of sequences. */
export type DifficultySchedule = (step: number) => number;

/** The options of what depends on the step. */
export const stepsShape = {
  schedule: z.custom<DifficultySchedule>((value) => typeof value === 'function', 'a function of the step'),
  samplesPerStep: z.int().positive(),
};

/** The difficulty grows from `from` to `to`. */
export interface GrowingDifficulty {
  /**
   * `linear`: in proportion to the steps. `root`: in proportion to their root of the degree
   * `rootDegree`, so it grows faster at first.
   */
  readonly kind: 'linear' | 'root';
  readonly from: number;
  readonly to: number;
  /** The number of steps after which the difficulty is `to`. */
  readonly totalSteps: number;
  /** Difficulties are rounded down to multiples of this number. Default 1. */
  readonly multipleOf?: number;
  /** Of `root` only. Default 2. */
  readonly rootDegree?: number;
}

/** Each difficulty holds until its step, the last one from then on. */
export interface DiscreteDifficulty {
  readonly kind: 'discrete';
  readonly difficulties: readonly number[];
  /** The last step of each difficulty except the last one. Ascending. */
  readonly untilSteps: readonly number[];
}

const growing = z.object({
  kind: z.enum(['linear', 'root']),
  from: z.number(),
  to: z.number(),
  totalSteps: z.int().positive(),
  multipleOf: z.number().positive().default(1),
  rootDegree: z.number().positive().optional(),
});

const discrete = z.object({
  kind: z.literal('discrete'),
  difficulties: z.array(z.number()).min(1),
  untilSteps: z.array(z.int().nonnegative()),
});

/**
 * The schedules of DeepSpeed's curriculum learning (`fixed_linear`, `fixed_root`,
 * `fixed_discrete`). Its schedule `custom` is any function of the step.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`.
 */
export function difficultySchedule(options: GrowingDifficulty | DiscreteDifficulty): DifficultySchedule {
  if ((options as DiscreteDifficulty | undefined)?.kind === 'discrete') return discreteSchedule(options);
  const { kind, from, to, totalSteps, multipleOf, rootDegree } = parseOptions(
    'difficultySchedule',
    growing,
    options,
  );
  if (to < from) throw refused('to', `${to} is less than from, which is ${from}`);
  if (kind === 'linear' && rootDegree !== undefined) {
    throw refused('rootDegree', "has no effect with kind 'linear'");
  }
  const power = kind === 'linear' ? 1 : 1 / (rootDegree ?? 2);
  return (step) => {
    const raw = from + (to - from) * Math.min(step / totalSteps, 1) ** power;
    // A product such as 0.1 · 30 may be slightly less than the whole number that it should be.
    const difficulty = Math.floor(raw / multipleOf + 1e-9) * multipleOf;
    return Math.min(Math.max(difficulty, from), to);
  };
}

function discreteSchedule(options: object): DifficultySchedule {
  const { difficulties, untilSteps } = parseOptions('difficultySchedule', discrete, options);
  if (untilSteps.length !== difficulties.length - 1) {
    throw refused(
      'untilSteps',
      `has ${untilSteps.length} items; expected ${difficulties.length - 1}, one fewer than difficulties`,
    );
  }
  if (untilSteps.some((step, i) => i > 0 && step <= untilSteps[i - 1]!)) {
    throw refused('untilSteps', `is ${untilSteps.join(', ')}; expected ascending steps`);
  }
  return (step) => {
    const place = untilSteps.findIndex((last) => step <= last);
    return difficulties[place < 0 ? difficulties.length - 1 : place]!;
  };
}

function refused(name: string, what: string): AccError {
  return new AccError('ACC_INVALID_OPTION', `difficultySchedule.${name} ${what}.`, {
    help: 'Give one difficulty more than steps: difficultySchedule({ difficulties: [1, 2, 3], untilSteps: [100, 200] }).',
    details: { path: [name] },
  });
}
