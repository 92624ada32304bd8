import type { Figures } from './exchange.js';
import type { SystemFigures } from './system.js';

export interface StepFigures {
  readonly learningRate: number | undefined;
  readonly gradientNorm: number | undefined;
  /** The number of samples per step on all ranks. Undefined if it is unknown. */
  readonly samples: number | undefined;
  readonly tokensPerSample: number | undefined;
  /** Figures of this process and its host. Undefined if the option `system` is off. */
  readonly system: SystemFigures | undefined;
}

/** The times of a step that are logged, in milliseconds. */
const PARTS = ['step', 'data', 'forward', 'backward', 'communication', 'optimizer'] as const;
/**
 * Figures that are logged even if they are NaN. For all other figures NaN means that there is no
 * value.
 */
const MAY_BE_NAN: readonly string[] = ['train/loss', 'train/grad_norm'];
const MEGABYTES_PER_MIB = 2 ** 20 / 1e6;

/** The metrics to log, by name. Figures without a value are left out. */
export function metricsOf(ranks: readonly Figures[], step: StepFigures): Record<string, number> {
  const mean = (name: keyof Figures) => sum(ranks.map((figures) => figures[name])) / ranks.length;
  const stepMs = mean('step');
  const samplesPerSecond = step.samples === undefined ? undefined : (1000 * step.samples) / stepMs;
  const { tokensPerSample } = step;
  const metrics: Record<string, number | undefined> = {
    'train/loss': lossOf(ranks),
    'train/learning_rate': step.learningRate,
    'train/grad_norm': step.gradientNorm,
    'train/samples_per_second': samplesPerSecond,
    'train/tokens_per_second':
      samplesPerSecond !== undefined && tokensPerSample !== undefined
        ? samplesPerSecond * tokensPerSample
        : undefined,
    ...Object.fromEntries(PARTS.map((name) => [`time/${name}_ms`, mean(name)])),
    ...systemMetrics(ranks, step.system),
  };
  const isThere = ([name, value]: [string, number | undefined]) =>
    value !== undefined && (MAY_BE_NAN.includes(name) || !Number.isNaN(value));
  return Object.fromEntries(Object.entries(metrics).filter(isThere)) as Record<string, number>;
}

/** The mean loss over the samples of all ranks. Undefined if there was no loss. */
function lossOf(ranks: readonly Figures[]): number | undefined {
  const weight = sum(ranks.map(({ lossWeight }) => lossWeight));
  return weight === 0 ? undefined : sum(ranks.map(({ lossSum }) => lossSum)) / weight;
}

/** System metrics. Those of the host have the names that MLflow uses. */
function systemMetrics(
  ranks: readonly Figures[],
  system: SystemFigures | undefined,
): Record<string, number | undefined> {
  if (!system) return {};
  const ofRanks = ranks.flatMap((figures) => {
    const prefix = `system/rank_${figures.rank}`;
    return [
      [`${prefix}/cpu_percentage`, figures.processCpuPercent],
      [`${prefix}/memory_megabytes`, figures.processMemoryMib * MEGABYTES_PER_MIB],
      [`${prefix}/gpu_percentage`, figures.gpuPercent],
      [`${prefix}/gpu_memory_megabytes`, figures.gpuMemoryMib * MEGABYTES_PER_MIB],
    ] as const;
  });
  return {
    'system/cpu_utilization_percentage': system.hostCpuPercent,
    'system/system_memory_usage_megabytes': system.hostMemoryMib * MEGABYTES_PER_MIB,
    ...Object.fromEntries(ofRanks),
  };
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
