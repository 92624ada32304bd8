import { calibrationOf, clusterOf, type Cluster } from './cluster.js';
import { originOfReached } from './constants.js';
import { stepFlops, type StepFlops } from './flops.js';
import { deviceMemory, hostBytes, totalBytes, type DeviceMemory } from './memory/device-memory.js';
import { modelOf, type Model } from './model.js';
import type { PredictOptions } from './options.js';
import { checkedPlan, planOf, type CheckedPlan, type Plan } from './plan.js';
import { tokensOf, type Setting } from './time/layer.js';
import type { Breakdown } from './breakdown.js';
import { stepSeconds } from './time/step.js';

/** Time and memory of a step. */
export interface Prediction {
  readonly stepSeconds: number;
  /** Hardware TFLOP/s of a device: recomputation counts. */
  readonly tflopsPerDevice: number;
  /** Model FLOPs a second as a part of the device's peak in the plan's precision: recomputation does not count. */
  readonly mfu: number;
  /** Bytes of the device that needs most. */
  readonly memoryBytes: number;
  /** Bytes that offload takes of a host's memory, for all its devices. */
  readonly hostMemoryBytes: number;
  /** Whether both are at most what there is. How much files take is not compared. */
  readonly fits: boolean;
  /** Seconds of a step. */
  readonly breakdown: Breakdown;
  /** The parts of `memoryBytes`. */
  readonly memory: DeviceMemory;
  /** FLOPs of a step on all devices, and how they are counted. */
  readonly flops: StepFlops;
  /** The constants of the hardware and where they are from. */
  readonly origins: readonly string[];
}

/**
 * Predicts time and memory of a training step of a transformer, without running anything.
 *
 * @throws AccError `ACC_PLAN_SHAPE` if numbers do not fit each other, `ACC_PLAN_CLUSTER` for an unknown
 * preset, `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, and those of model files: `ACC_MODEL_NOT_FOUND`,
 * `ACC_MODEL_UNKNOWN`, `ACC_MODEL_CONFIG_INVALID`.
 */
export function predict(options: PredictOptions): Prediction {
  return predictionOf(settingOf(options));
}

export function predictionOf(setting: Setting): Prediction {
  const { model, cluster, plan } = setting;
  const { seconds, breakdown, keptLayers } = stepSeconds(setting);
  const flops = stepFlops(model, plan);
  const memory = deviceMemory(model, plan, tokensOf({ ...setting, rows: largestRows(plan) }), keptLayers);
  const memoryBytes = totalBytes(memory);
  const hostMemoryBytes = hostBytes(model, plan, Math.min(cluster.devices, cluster.devicesPerHost));
  const perDevice = seconds * cluster.devices;
  return {
    stepSeconds: seconds,
    tflopsPerDevice: flops.hardware / perDevice / 1e12,
    mfu: flops.model / perDevice / cluster.device.peakFlops[plan.precision]!,
    ...{ memoryBytes, hostMemoryBytes },
    fits: memoryBytes <= cluster.device.memoryBytes && hostMemoryBytes <= cluster.hostMemoryBytes,
    ...{ breakdown, memory, flops, origins: originsOf(cluster, setting) },
  };
}

/** The options, checked and complete. */
export function settingOf(options: PredictOptions): Setting {
  const given = checkedPlan(options.plan);
  const model = modelOf(options.model, given.sequence);
  return settingOfParts(given, model, clusterOf(options.cluster));
}

/** The same, of parts that are checked. */
export function settingOfParts(given: CheckedPlan, model: Model, cluster: Cluster): Setting {
  const plan = planOf(given, model, cluster);
  const rows = plan.batchOfDevice / plan.microBatches;
  return { model, cluster, plan, calibration: calibrationOf(cluster, plan), rows };
}

/** Sequences of the largest micro-batch: only the last one may be smaller. */
export const largestRows = ({ microBatch, batchOfDevice }: Plan): number =>
  Math.min(microBatch, batchOfDevice);

function originsOf(cluster: Cluster, { calibration }: Pick<Setting, 'calibration'>): string[] {
  const { device, network, devices, devicesPerHost } = cluster;
  return [
    `peak and memory of ${device.name}: ${device.source}`,
    ...(devices > devicesPerHost ? [`network: ${network.name}`] : []),
    `efficiencies: ${originOfReached(cluster, calibration)}`,
  ];
}
