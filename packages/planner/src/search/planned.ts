import type { DeviceMemory } from '../memory/device-memory.js';
import type { Prediction } from '../predict.js';
import type { Breakdown } from '../breakdown.js';
import type { CreateOptions } from './create-options.js';
import type { FullPlan, StepPart } from './full-plan.js';
import type { Sized } from './variants.js';

/** A plan that fits. */
export interface PlannedRun {
  readonly plan: FullPlan;
  readonly stepSeconds: number;
  /** Bytes of the device that needs most. */
  readonly memoryBytes: number;
  /** The largest part of a step. */
  readonly boundBy: StepPart;
  readonly mfu: number;
  readonly tflopsPerDevice: number;
  readonly hostMemoryBytes: number;
  readonly breakdown: Breakdown;
  readonly memory: DeviceMemory;
  /** Options of `Accelerator.create`, and what the program does beside them. */
  readonly create: CreateOptions;
}

/** A plan that does not fit. */
export interface UnfitPlan {
  readonly plan: FullPlan;
  readonly memoryBytes: number;
  /** Bytes that offload takes of a host's memory. It may be what does not fit. */
  readonly hostMemoryBytes: number;
  /** The part of the device's memory that is largest. */
  readonly most: keyof DeviceMemory;
  readonly memory: DeviceMemory;
  /** A step would take at least so long. */
  readonly atLeastSeconds: number;
}

/** @param createOptions Gives the options of `create` for a plan. */
export function plannedOf(
  { sized, prediction }: { readonly sized: Sized; readonly prediction: Prediction },
  createOptions: (plan: FullPlan) => CreateOptions,
): PlannedRun {
  const { stepSeconds, memoryBytes, mfu, tflopsPerDevice, hostMemoryBytes, breakdown, memory } = prediction;
  const { recomputed: _, ...parts } = breakdown;
  const plan = fullPlanOf(sized);
  return {
    ...{ plan, stepSeconds, memoryBytes, boundBy: largestOf(parts), mfu, tflopsPerDevice },
    ...{ hostMemoryBytes, breakdown, memory, create: createOptions(plan) },
  };
}

export function partsOf(sized: Sized): Omit<UnfitPlan, 'atLeastSeconds'> {
  const { memory, memoryBytes, hostMemoryBytes } = sized;
  return { plan: fullPlanOf(sized), memoryBytes, hostMemoryBytes, most: largestOf(memory), memory };
}

function fullPlanOf({ given, setting: { plan } }: Sized): FullPlan {
  const { mesh, stage, microBatch, chunks, sequenceParallel, flashAttention, schedule, recompute } = plan;
  return {
    ...{ mesh, stage, offload: plan.offload ?? null },
    ...{ globalBatch: plan.globalBatch, sequence: given.sequence!, microBatch },
    accumulation: mesh.pipeline > 1 ? 1 : plan.microBatches,
    ...{ chunks, schedule, recompute },
    checkpointEvery: recompute === 'full' ? plan.checkpointEvery : null,
    ...{ sequenceParallel, flashAttention, precision: plan.precision },
  };
}

/** The name of the largest number. */
export const largestOf = <Name extends string>(parts: Readonly<Record<Name, number>>): Name =>
  (Object.entries(parts) as [Name, number][]).reduce((most, each) => (each[1] > most[1] ? each : most))[0];
