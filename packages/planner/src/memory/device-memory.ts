import { sum } from '../flops.js';
import type { Model } from '../model.js';
import type { Offload, Plan } from '../plan.js';
import type { Precision } from './activations.js';
import { replicated, sharded } from './layouts.js';
import type { ModelSizes } from './model-sizes.js';
import { layerSizesOfRanks, mostParameters, optimizerShards } from './shares.js';
import { layerActivationBytes, otherActivationBytes } from './transformer-activations.js';

/** The bytes of a device, on the rank that needs most. */
export interface DeviceMemory {
  /** Weights, with the 16-bit copies with which products compute. */
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Whole units beside the shards of `fsdp` and of stage 2, and units of offload on their way. */
  readonly gathered: number;
  /** Activations that layers keep. */
  readonly activations: number;
  /** Activations of one layer that backward computes again. */
  readonly recomputed: number;
  /** Activations beside them: the head and its loss, dropout of the embedding. */
  readonly otherActivations: number;
}

/** The names of the parts in messages. */
export const MEMORY_NAMES: Readonly<Record<keyof DeviceMemory, string>> = {
  weights: 'weights',
  gradients: 'gradients',
  optimizer: "the optimizer's state",
  gathered: 'whole units of fsdp or offload on their way',
  activations: 'activations',
  recomputed: 'activations that backward computes again',
  otherActivations: 'activations of the head and its loss',
};

/**
 * Memory with Adam: what the estimator of `acc estimate-memory` counts for the device's share of the
 * parameters, and activations of transformers on GPUs.
 *
 * @param tokens Of the largest micro-batch on the device.
 * @param keptLayers The most layers whose activations each rank of the pipeline holds.
 */
export function deviceMemory(
  model: Model,
  plan: Plan,
  tokens: number,
  keptLayers: readonly number[],
): DeviceMemory {
  const layerSizes = layerSizesOfRanks(model, plan);
  // Ranks between the second and the last have no more layers than the second, and keep no more of them.
  const ranks = [...new Set([0, Math.min(1, keptLayers.length - 1), keptLayers.length - 1])].map((rank) => ({
    ...stateOf(sizesOf(model, layerSizes[rank]!), plan),
    ...layersOf(model, plan, { tokens, kept: keptLayers[rank]! }),
    otherActivations: rank === 0 ? otherActivationBytes(model, plan, tokens) : 0,
  }));
  return ranks.reduce((most, each) => (totalBytes(each) > totalBytes(most) ? each : most));
}

/** Activations that are kept, and those of the layers that backward computes again together. */
function layersOf(model: Model, plan: Plan, { tokens, kept }: { tokens: number; kept: number }) {
  const layer = layerActivationBytes(model, plan, tokens);
  const whole = layerActivationBytes(model, { ...plan, recompute: 'none' }, tokens);
  const section = plan.recompute === 'full' ? plan.checkpointEvery : 1;
  return { activations: (kept * layer) / section, recomputed: section * whole - layer };
}

/**
 * Bytes in a host's memory that offload moves there from its devices: float32 parameters, gradients and
 * moments. Nothing if they are in files.
 */
export function hostBytes(model: Model, plan: Plan, devicesPerHost: number): number {
  const { offload } = plan;
  if (offload?.to !== 'cpu') return 0;
  return devicesPerHost * offloadedBytes(offload, plan) * mostParameters(model, plan);
}

/** Bytes for each parameter of a device that lie outside it. */
export function offloadedBytes({ params, optimizer }: Offload, plan: Plan): number {
  const shards = optimizerShards(plan);
  const gradientShards = plan.stage >= 2 ? shards : 1;
  return (params ? 4 / plan.mesh.fsdp : 0) + (optimizer ? 8 / shards + 4 / gradientShards : 0);
}

export const totalBytes = (memory: DeviceMemory): number => sum(Object.values(memory) as number[]);

function stateOf(sizes: ModelSizes, plan: Plan) {
  const { fsdp } = plan.mesh;
  const precision = plan.precision === 'float32' || plan.precision === 'tf32' ? 'float32' : 'bf16';
  const layout = layoutOf(plan, sizes, precision);
  const { params = false, optimizer = false } = plan.offload ?? {};
  const copies = (layout.copyBytes * sizes.parameters) / fsdp;
  return {
    weights: params ? 0 : layout.parameterBytes + copies,
    // Sums of several micro-batches stay in memory.
    gradients: optimizer && plan.microBatches === 1 ? 0 : layout.gradientBytes,
    optimizer: optimizer ? 0 : layout.optimizerBytes,
    gathered: (layout.wholeWeightBytes ?? 0) + (layout.wholeGradientBytes ?? 0) + onTheWay(sizes, plan),
  };
}

/** `@acc/fsdp` has up to four units of what it offloads in memory. */
const UNITS_ON_THE_WAY = 4;

const onTheWay = ({ layerSizes }: ModelSizes, plan: Plan): number =>
  plan.offload ? UNITS_ON_THE_WAY * Math.max(...layerSizes!) * offloadedBytes(plan.offload, plan) : 0;

function layoutOf(plan: Plan, sizes: ModelSizes, precision: Precision) {
  const adam = { state: 2 * sizes.parameters, temporary: 0 };
  const shards = optimizerShards(plan);
  if (plan.mesh.fsdp > 1) return sharded(sizes, adam, precision, { stage: 3, shards });
  const whole = replicated(sizes, adam, precision, false);
  if (plan.stage === 0) return whole;
  const divided = sharded(sizes, adam, precision, { stage: plan.stage === 2 ? 2 : 1, shards });
  // Between micro-batches, stage 1 has whole gradients.
  return plan.stage === 2 ? divided : { ...whole, optimizerBytes: divided.optimizerBytes };
}

function sizesOf(model: Model, layerSizes: readonly number[]): ModelSizes {
  const parameters = sum(layerSizes);
  return {
    ...{ parameters, trainable: parameters, layerSizes, architecture: model },
    ...{ largestTensor: undefined, factored: undefined },
  };
}
