import { sum } from '../flops.js';
import type { Model } from '../model.js';
import type { Plan } from '../plan.js';
import type { Precision } from './activations.js';
import { replicated, sharded } from './layouts.js';
import type { ModelSizes } from './model-sizes.js';
import { layerSizesOfRanks, optimizerShards } from './shares.js';
import { layerActivationBytes, otherActivationBytes } from './transformer-activations.js';

/** The bytes of a device, on the rank that needs most. */
export interface DeviceMemory {
  /** Weights, with the 16-bit copies with which products compute. */
  readonly weights: number;
  readonly gradients: number;
  readonly optimizer: number;
  /** Whole units beside the shards of `fsdp`. */
  readonly gathered: number;
  /** Activations that layers keep. */
  readonly activations: number;
  /** Activations of one layer that backward computes again. */
  readonly recomputed: number;
  /** Activations beside them: the head and its loss, dropout of the embedding. */
  readonly otherActivations: number;
}

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
  const layer = layerActivationBytes(model, plan, tokens);
  const layerSizes = layerSizesOfRanks(model, plan);
  const ranks = keptLayers.map((kept, rank) => ({
    ...stateOf(sizesOf(model, layerSizes[rank]!), plan),
    activations: kept * layer,
    recomputed: layerActivationBytes(model, { ...plan, recompute: 'none' }, tokens) - layer,
    otherActivations: rank === 0 ? otherActivationBytes(model, plan, tokens) : 0,
  }));
  return ranks.reduce((most, each) => (totalBytes(each) > totalBytes(most) ? each : most));
}

export const totalBytes = (memory: DeviceMemory): number => sum(Object.values(memory) as number[]);

function stateOf(sizes: ModelSizes, plan: Plan) {
  const { fsdp } = plan.mesh;
  const precision = plan.precision === 'float32' || plan.precision === 'tf32' ? 'float32' : 'bf16';
  const layout = layoutOf(plan, sizes, precision);
  return {
    weights: layout.parameterBytes + (layout.copyBytes * sizes.parameters) / fsdp,
    gradients: layout.gradientBytes,
    optimizer: layout.optimizerBytes,
    gathered: (layout.wholeWeightBytes ?? 0) + (layout.wholeGradientBytes ?? 0),
  };
}

function layoutOf(plan: Plan, sizes: ModelSizes, precision: Precision) {
  const adam = { state: 2 * sizes.parameters, temporary: 0 };
  const shards = optimizerShards(plan);
  if (plan.mesh.fsdp > 1) return sharded(sizes, adam, precision, { stage: 3, shards });
  const whole = replicated(sizes, adam, precision, false);
  if (plan.stage === 0) return whole;
  const { optimizerBytes } = sharded(sizes, adam, precision, { stage: 1, shards });
  return { ...whole, optimizerBytes };
}

function sizesOf(model: Model, layerSizes: readonly number[]): ModelSizes {
  const parameters = sum(layerSizes);
  return {
    ...{ parameters, trainable: parameters, layerSizes, architecture: model },
    ...{ largestTensor: undefined, factored: undefined },
  };
}
