import { AccError, parseOptions } from '@acc/contract';
import { z } from 'zod';
import type { ScalingRule } from './scale-learning-rate.js';

/** Options of every schedule. */
export interface ScheduleOptions {
  /** What the numbers of steps count. Default `steps` of the optimizer; `samples` are those of all ranks. */
  readonly unit?: 'steps' | 'samples';
  /** Multiplies the whole schedule for the number of ranks, once it is prepared. Default `none`. */
  readonly scaling?: 'none' | ScalingRule;
}

export interface ConstantOptions extends ScheduleOptions {
  /** At step k of these the rate is the base's k / warmupSteps. Default 0. */
  readonly warmupSteps?: number;
}

export interface LinearOptions extends ConstantOptions {
  /** With the warm-up; afterwards the rate stays at its end. */
  readonly totalSteps: number;
  /** Default 0. */
  readonly endLr?: number;
}

export type CosineOptions = LinearOptions;

export interface PolynomialOptions extends LinearOptions {
  /** Of what is left of the schedule. Default 1. */
  readonly power?: number;
}

export interface StepOptions extends ConstantOptions {
  /** Steps between two falls of the rate, counted from the end of the warm-up. */
  readonly stepSize: number;
  /** What the rate is multiplied by then. Default 0.1. */
  readonly gamma?: number;
}

export interface OneCycleOptions extends ScheduleOptions {
  readonly totalSteps: number;
  /** The greatest rate. Default: the optimizer's. */
  readonly maxLr?: number;
  /** The step at which the rate is greatest. Default 0.3 · totalSteps - 1, as PyTorch's. */
  readonly warmupSteps?: number;
  /** The first rate is the greatest divided by this. Default 25. */
  readonly startDivisor?: number;
  /** Default: the first rate / 10,000. */
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
      `${where}: a warm-up of ${warmupSteps} steps leaves none of ${totalSteps}.`,
      { help: 'Give a shorter warm-up, or more steps in all.', details: { path: ['warmupSteps'] } },
    );
  }
  return resolved as Resolved<K>;
}
