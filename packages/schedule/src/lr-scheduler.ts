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
 * Sets the learning rate of an optimizer in each step. The base rate is the optimizer's rate when
 * the scheduler is created. The scheduler sets the rate of the first step at once.
 *
 * A prepared scheduler counts the steps of its optimizer. `step()` does nothing if the optimizer
 * has not stepped, as inside a window of gradient accumulation or after a skipped step. `fit` calls
 * it automatically. Without `prepare`, every call of `step()` counts.
 *
 * All factories throw `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, and `ACC_SCHEDULE_OPTIMIZER` for
 * an optimizer without a rate.
 */
export class LRScheduler {
  private constructor(optimizer: Optimizer, curve: curves.Curve, options: Required<ScheduleOptions>) {
    const schedule = new Schedule(optimizer, curve, options.unit);
    insides.set(this, { schedule, scaling: options.scaling });
  }

  /** The base rate, after a warm-up. */
  static constant(optimizer: Optimizer, options: ConstantOptions = {}): LRScheduler {
    const resolved = resolve('constant', options);
    const curve = curves.constant({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** From the base rate to `endLr` on a line. */
  static linear(optimizer: Optimizer, options: LinearOptions): LRScheduler {
    const resolved = resolve('linear', options);
    const curve = curves.linear({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** From the base rate to `endLr` on half a cosine. */
  static cosine(optimizer: Optimizer, options: CosineOptions): LRScheduler {
    const resolved = resolve('cosine', options);
    const curve = curves.cosine({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** endLr + (base - endLr) · (remaining fraction of the schedule) ^ power. */
  static polynomial(optimizer: Optimizer, options: PolynomialOptions): LRScheduler {
    const resolved = resolve('polynomial', options);
    const curve = curves.polynomial({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** The base rate, multiplied by `gamma` every `stepSize` steps. */
  static step(optimizer: Optimizer, options: StepOptions): LRScheduler {
    const resolved = resolve('step', options);
    const curve = curves.steps({ ...resolved, base: learningRateOf(optimizer) });
    return new LRScheduler(optimizer, curve, resolved);
  }

  /** Rises to `maxLr`, then falls below the first rate. */
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
   * Sets the rate of the next step. Call it after the optimizer's step.
   *
   * @throws AccError `ACC_SCHEDULE_SAMPLES`, `ACC_SCHEDULE_OPTIMIZER`.
   */
  step(): void {
    insides.get(this)!.schedule.move();
  }

  getState(): ScheduleState {
    return insides.get(this)!.schedule.getState();
  }

  /**
   * Restores the state of {@link getState}, in a scheduler with the same options and the same base
   * rate.
   */
  setState(state: ScheduleState): void {
    insides.get(this)!.schedule.setState(state);
  }
}

/** The schedule of a scheduler, which then follows its optimizer on `ranks` ranks. */
export function follow(scheduler: LRScheduler, ranks: number): Schedule {
  const { schedule, scaling } = insides.get(scheduler)!;
  schedule.follow(scaling === 'none' ? 1 : scaleLearningRate(1, ranks, scaling));
  return schedule;
}
