import type { Optimizer } from '@tensorflow/tfjs-core';
import * as curves from './curves.js';
import { learningRateOf } from './learning-rate.js';
import {
  resolve,
  type ConstantOptions,
  type CosineOptions,
  type LinearOptions,
  type OneCycleOptions,
  type PolynomialOptions,
  type ScheduleOptions,
  type StepOptions,
} from './options.js';
import { scaleLearningRate } from './scale-learning-rate.js';
import { Schedule, type ScheduleState } from './schedule.js';

interface Inside {
  readonly schedule: Schedule;
  readonly scaling: NonNullable<ScheduleOptions['scaling']>;
}
const insides = new WeakMap<LRScheduler, Inside>();

/**
 * The learning rate of an optimizer, step by step. It starts from the rate that the optimizer has when the scheduler is made,
 * the base, and sets the rate of the first step at once.
 *
 * Once prepared it counts steps of the optimizer: `step()` does nothing while the optimizer has not stepped, as inside a window
 * of accumulation or when a step was skipped. In `fit` it steps by itself. Unprepared, every `step()` counts.
 *
 * All factories throw `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, and `ACC_SCHEDULE_OPTIMIZER` for an optimizer without a rate.
 */
export class LRScheduler {
  private constructor(optimizer: Optimizer, curve: curves.Curve, options: Required<ScheduleOptions>) {
    const schedule = new Schedule(optimizer, curve, options.unit);
    insides.set(this, { schedule, scaling: options.scaling });
  }

  /** The base, after a warm-up. */
  static constant(optimizer: Optimizer, options: ConstantOptions = {}): LRScheduler {
    const resolved = resolve('constant', options);
    const curve = curves.constant({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** From the base to `endLr` on a line. */
  static linear(optimizer: Optimizer, options: LinearOptions): LRScheduler {
    const resolved = resolve('linear', options);
    const curve = curves.linear({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** From the base to `endLr` on half a cosine. */
  static cosine(optimizer: Optimizer, options: CosineOptions): LRScheduler {
    const resolved = resolve('cosine', options);
    const curve = curves.cosine({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** endLr + (base - endLr) · (what is left of the schedule) ^ power. */
  static polynomial(optimizer: Optimizer, options: PolynomialOptions): LRScheduler {
    const resolved = resolve('polynomial', options);
    const curve = curves.polynomial({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** The base, multiplied by `gamma` every `stepSize` steps. */
  static step(optimizer: Optimizer, options: StepOptions): LRScheduler {
    const resolved = resolve('step', options);
    const curve = curves.steps({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** Up to `maxLr`, and down below the first rate. */
  static oneCycle(optimizer: Optimizer, options: OneCycleOptions): LRScheduler {
    const resolved = resolve('oneCycle', options);
    const { totalSteps, maxLr = learningRateOf(optimizer), startDivisor } = resolved;
    const startLr = maxLr / startDivisor;
    const { warmupSteps = Math.max(0, 0.3 * totalSteps - 1), endLr = startLr / 10_000 } = resolved;
    const curve = curves.oneCycle({ totalSteps, maxLr, startLr, warmupSteps, endLr });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** The rate of the optimizer's next step. */
  get learningRate(): number {
    return insides.get(this)!.schedule.learningRate;
  }

  /**
   * Sets the rate of the next step. Call it after the optimizer.
   *
   * @throws AccError `ACC_SCHEDULE_SAMPLES`, `ACC_SCHEDULE_OPTIMIZER`.
   */
  step(): void {
    insides.get(this)!.schedule.move();
  }

  getState(): ScheduleState {
    return insides.get(this)!.schedule.getState();
  }

  /** Goes on from what {@link getState} gave, in a scheduler of the same options over an optimizer of the same base. */
  setState(state: ScheduleState): void {
    insides.get(this)!.schedule.setState(state);
  }
}

/** The schedule behind a scheduler, which from now on follows its optimizer on `ranks` ranks. */
export function follow(scheduler: LRScheduler, ranks: number): Schedule {
  const { schedule, scaling } = insides.get(scheduler)!;
  schedule.follow(scaling === 'none' ? 1 : scaleLearningRate(1, ranks, scaling));
  return schedule;
}
