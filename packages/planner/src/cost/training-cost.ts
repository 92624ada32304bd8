import { AccError, parseOptions } from '@acc/contract';
import * as z from 'zod';

/** The target of a training, and what devices cost. */
export interface CostOptions {
  /** Samples after which small batches reach the target: E_min of McCandlish et al. */
  readonly leastSamples: number;
  /** The batch that needs twice as many: E_min ÷ S_min, which the gradient noise scale estimates. */
  readonly criticalBatch: number;
  /** The price of a device for an hour, in any currency. */
  readonly pricePerHour?: number;
  /** The power of a device with its share of the host, in watts. */
  readonly watts?: number;
}

/** A training with its devices. */
export interface DevicesCostOptions extends CostOptions {
  readonly devices: number;
  /** The divisor of each batch but the plan's: data × fsdp × the micro-batch. Default 1. */
  readonly multipleOf?: number;
}

const positive = z.number().positive().max(1e30);
const size = z.number().int().positive();

const schema = z.object({
  ...{ leastSamples: positive, criticalBatch: positive, devices: size, multipleOf: size.default(1) },
  ...{ pricePerHour: positive.optional(), watts: positive.optional() },
});

const stepSchema = z.object({ batch: size, seconds: positive });

/** A value, and the range in which it lies if the critical batch is a quarter, or four times, of what was given. */
export interface Range {
  readonly low: number;
  readonly mid: number;
  readonly high: number;
}

/** A training to the target with one size of batches. */
export interface CostOfBatch {
  readonly batch: number;
  readonly steps: Range;
  readonly samples: Range;
  readonly seconds: Range;
  readonly money?: Range;
  readonly kilowattHours?: Range;
}

export interface TrainingCost {
  /** √(B_crit · r · t₀): with it a training takes least time. */
  readonly fastestBatch: number;
  /** A step of B samples takes `stepOverhead` + B ÷ `samplesPerSecond`. */
  readonly stepOverhead: number;
  readonly samplesPerSecond: number;
  /** The divisor of each batch but the first. */
  readonly multipleOf: number;
  /** With the batch of the plan, and with about half of the fastest, the fastest, and twice that. */
  readonly batches: readonly CostOfBatch[];
}

/** The time of a step, at two sizes of its batch. */
export interface StepTime {
  readonly batch: number;
  readonly seconds: number;
}

/** The factor by which the gradient noise scale may miss the critical batch: 2 to 4. */
const UNCERTAINTY = 4;

/**
 * Time, money and energy to a target (McCandlish et al., "An Empirical Model of Large-Batch Training",
 * arXiv 1812.06162): with batches of B it takes E_min (1 + B ÷ B_crit) samples.
 *
 * @param small The step of the plan.
 * @param large The step with a larger batch and the same mesh.
 */
export function trainingCost(small: StepTime, large: StepTime, options: DevicesCostOptions): TrainingCost {
  parseOptions('small', stepSchema, small);
  parseOptions('large', stepSchema, large);
  const checked = parseOptions('cost', schema, options);
  const { multipleOf } = checked;
  const perSample = (large.seconds - small.seconds) / (large.batch - small.batch);
  if (!(perSample > 0)) throw withoutSlope(small, large);
  const samplesPerSecond = 1 / perSample;
  const stepOverhead = Math.max(0, small.seconds - small.batch * perSample);
  const fastestBatch = Math.sqrt(checked.criticalBatch * samplesPerSecond * stepOverhead);
  const secondsOf = (batch: number) => stepOverhead + batch * perSample;
  const others = [fastestBatch / 2, fastestBatch, 2 * fastestBatch].map(
    (batch) => multipleOf * Math.max(1, Math.round(batch / multipleOf)),
  );
  return {
    ...{ fastestBatch, stepOverhead, samplesPerSecond, multipleOf },
    batches: [...new Set([small.batch, ...others])].map((batch) => costOf(batch, secondsOf(batch), checked)),
  };
}

function costOf(
  batch: number,
  stepSeconds: number,
  { leastSamples, criticalBatch, pricePerHour, watts, devices }: z.infer<typeof schema>,
): CostOfBatch {
  const samplesWith = (critical: number) => leastSamples * (1 + batch / critical);
  const samples = {
    low: samplesWith(criticalBatch * UNCERTAINTY),
    mid: samplesWith(criticalBatch),
    high: samplesWith(criticalBatch / UNCERTAINTY),
  };
  const steps = scaled(samples, 1 / batch);
  const seconds = scaled(steps, stepSeconds);
  const deviceHours = scaled(seconds, devices / 3600);
  return {
    ...{ batch, steps, samples, seconds },
    ...(pricePerHour !== undefined && { money: scaled(deviceHours, pricePerHour) }),
    ...(watts !== undefined && { kilowattHours: scaled(deviceHours, watts / 1000) }),
  };
}

const scaled = ({ low, mid, high }: Range, by: number): Range => ({
  ...{ low: low * by, mid: mid * by, high: high * by },
});

const withoutSlope = (small: StepTime, large: StepTime): AccError =>
  new AccError('ACC_INVALID_OPTION', 'cost: the step with the larger batch takes no more time.', {
    help: 'Give two batches of which the second is larger.',
    details: { small, large },
  });
