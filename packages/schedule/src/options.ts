import { AccError, parseOptions } from '@acc/contract';
import * as z from 'zod';
import type { ScalingRule } from './scale-learning-rate.js';

/** Options of every schedule. */
export interface ScheduleOptions {
  /**
   * The unit of step counts. Default: `steps` of the optimizer. `samples` counts the samples of all
   * ranks.
   */
  readonly unit?: 'steps' | 'samples';
  /** Scales the whole schedule by the number of ranks when it is prepared. Default `none`. */
  readonly scaling?: 'none' | ScalingRule;
}

export interface ConstantOptions extends ScheduleOptions {
  /** The length of the warm-up. At step k of it the rate is base · k / warmupSteps. Default 0. */
  readonly warmupSteps?: number;
}

export interface LinearOptions extends ConstantOptions {
  /**
   * The length of the schedule, including the warm-up. Afterwards the rate stays at its end value.
   */
  readonly totalSteps: number;
  /** The rate at the end. Default 0. */
  readonly endLr?: number;
}

export type CosineOptions = LinearOptions;

export interface PolynomialOptions extends LinearOptions {
  /** The exponent of the remaining fraction of the schedule. Default 1. */
  readonly power?: number;
}

export interface StepOptions extends ConstantOptions {
  /** The number of steps between two reductions of the rate, counted from the end of the warm-up. */
  readonly stepSize: number;
  /** The factor of each reduction. Default 0.1. */
  readonly gamma?: number;
}

export interface OneCycleOptions extends ScheduleOptions {
  readonly totalSteps: number;
  /** The largest rate. Default: the optimizer's rate. */
  readonly maxLr?: number;
  /** The step with the largest rate. Default 0.3 · totalSteps - 1, as in PyTorch. */
  readonly warmupSteps?: number;
  /** The largest rate is divided by this for the first rate. Default 25. */
  readonly startDivisor?: number;
  /** The last rate. Default: the first rate / 10,000. */
  readonly endLr?: number;
}

const count = z.int().nonnegative();
const rate = z.number().nonnegative();
const common = {
  unit: z.enum(['steps', 'samples']).default('steps'),
  scaling: z.enum(['none', 'linear', 'squareRoot']).default('none'),
};
const warming = { ...common, warmupSteps: count.default(0) };
const ending = { ...warming, totalSteps: z.int().positive(), endLr: rate.default(0) };

const schemas = {
  constant: z.object(warming),
  linear: z.object(ending),
  cosine: z.object(ending),
  polynomial: z.object({ ...ending, power: z.number().positive().default(1) }),
  step: z.object({
    ...warming,
    stepSize: z.int().positive(),
    gamma: z.number().positive().default(0.1),
  }),
  oneCycle: z.object({
    ...common,
    totalSteps: z.int().min(2),
    maxLr: z.number().positive().optional(),
    warmupSteps: count.optional(),
    startDivisor: z.number().min(1).default(25),
    endLr: rate.optional(),
  }),
};

type Schemas = typeof schemas;
export type ScheduleKind = keyof Schemas;
export type Resolved<K extends ScheduleKind> = Readonly<z.infer<Schemas[K]>>;

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolve<K extends ScheduleKind>(kind: K, options: object): Resolved<K> {
  const where = `LRScheduler.${kind}`;
  const resolved: { warmupSteps?: number | undefined; totalSteps?: number } = parseOptions<
    z.infer<Schemas[ScheduleKind]>
  >(where, schemas[kind], options);
  const { warmupSteps = 0, totalSteps = Infinity } = resolved;
  if (warmupSteps >= totalSteps) {
    throw new AccError(
      'ACC_INVALID_OPTION',
      `${where}: a warm-up of ${warmupSteps} steps is not shorter than the schedule of ${totalSteps} steps.`,
      { help: 'Use a shorter warm-up, or increase totalSteps.', details: { path: ['warmupSteps'] } },
    );
  }
  return resolved as Resolved<K>;
}
