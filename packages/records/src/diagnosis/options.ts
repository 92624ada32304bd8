import type { Change } from './finding.js';
import type { Run } from './run.js';

/**
 * The options that findings change, by their path in the options of the Accelerator. `threads` is an option
 * of `acc launch`, and `numWorkers` one of a DataLoader.
 */
export const CHANGED_OPTIONS = [
  'autoLog.every',
  'checkpoint.async',
  'checkpointEvery',
  'dataLoader.prefetch',
  'ddp.bucketBytes',
  'ddp.commHook',
  'ddp.syncAt',
  'ddp.syncEachBatch',
  'fsdp.offload',
  'gradientAccumulationSteps',
  'gradientClipping.norm',
  'mixedPrecision',
  'pipeline.microBatches',
  'pipeline.stages',
  'strategy',
] as const;
export const LAUNCH_OPTIONS = ['threads'] as const;
export const LOADER_OPTIONS = ['numWorkers'] as const;

/** The value of an option of the Accelerator in the facts of a run. Undefined: not set, or not known. */
export function optionOf(run: Run, path: string): unknown {
  return path
    .split('.')
    .reduce<unknown>((value, name) => (value as Record<string, unknown> | null | undefined)?.[name], {
      ...run.facts?.options,
    });
}

/** Axes whose ranks work on the same samples. */
const SHARING_AXES = ['tensor', 'pipeline', 'context'] as const;
const AXES = ['data', 'fsdp', 'expert', ...SHARING_AXES] as const;

/** The ranks along an axis of the mesh. -1 stands for all ranks that the other axes leave. */
export function axisSize(run: Run, axis: (typeof AXES)[number]): number {
  const given = (name: string) => Number(optionOf(run, `mesh.${name}`) ?? 1);
  if (given(axis) > 0) return given(axis);
  const others = AXES.filter((name) => name !== axis).reduce((size, name) => size * given(name), 1);
  return (run.facts?.ranks ?? run.numbers.length) / others;
}

/** The ranks that work on the same samples. */
export function sharingRanks(run: Run): number {
  return SHARING_AXES.reduce((size, axis) => size * axisSize(run, axis), 1);
}

/** A change of an option of the Accelerator, in the line that creates it. */
export function changeOf(run: Run, option: (typeof CHANGED_OPTIONS)[number], to: unknown): Change {
  const from = optionOf(run, option) ?? null;
  return { option, from, to, line: run.facts?.createdAt ?? null };
}

export function launchChange(option: (typeof LAUNCH_OPTIONS)[number], from: unknown, to: unknown): Change {
  return { option: `acc launch --${option}`, from, to, line: null };
}

export function loaderChange(option: (typeof LOADER_OPTIONS)[number], to: unknown): Change {
  return { option: `DataLoader ${option}`, from: null, to, line: null };
}
