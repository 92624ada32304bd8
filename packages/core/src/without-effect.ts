import type { Plugin, StepInfo } from '@acc/contract';
import type { ResolvedOptions } from './options.js';
import { withoutPartner } from './presets/without-partner.js';

/** The objects that were prepared or started before the first step. */
export interface Used {
  readonly hasModel: () => boolean;
  readonly hasData: () => boolean;
  readonly hasTrackers: () => boolean;
  /** Whether prepared variables are to be cut over the axis `tensor`. */
  readonly hasCuts: () => boolean;
  /** Whether the current step belongs to a micro-batch of `accumulate` or `fit`. */
  readonly isInWindow: () => boolean;
}

/**
 * Checks at the first step whether each option can have an effect, and warns about those that
 * cannot.
 */
export function withoutEffect(options: ResolvedOptions, used: Used, warn: (message: string) => void): Plugin {
  let isDone = false;
  return {
    name: 'withoutEffect',
    afterStep(info) {
      if (isDone) return;
      isDone = true;
      for (const message of idleOptions(options, used, info)) warn(`acc: ${message}`);
    },
  };
}

function idleOptions(options: ResolvedOptions, used: Used, { isInFit }: StepInfo): string[] {
  const { gradientAccumulationSteps, checkpointEvery, dataLoader, autoLog, logWith, mesh } = options;
  const { splitBatches, evenBatches, shuffle, dispatchBatches, prefetch } = dataLoader;
  const isDataGiven = splitBatches || !evenBatches || !shuffle;
  const idleData = [
    isDataGiven && !isInFit && 'dataLoader',
    dispatchBatches && 'dataLoader.dispatchBatches',
    prefetch > 0 && 'dataLoader.prefetch',
  ].find((name) => name !== false);
  const messages = [
    ...withoutPartner(options),
    gradientAccumulationSteps > 1 &&
      !used.isInWindow() &&
      `gradientAccumulationSteps is ${gradientAccumulationSteps}, but the first step was taken outside accelerator.accumulate(). So each micro-batch takes a step.`,
    typeof options.strategy !== 'object' &&
      mesh?.tensor === undefined &&
      used.hasCuts() &&
      'parallelize has no effect: the mesh has no axis tensor, so each rank computes whole layers on rows of its own. Give mesh: { tensor: … }, or tensor: 1 if this is meant.',
    checkpointEvery !== undefined &&
      !used.hasModel() &&
      'checkpointEvery has no effect: no LayersModel is prepared. Put checkpoint(fn, inputs) around parts of the loss function.',
    idleData !== undefined &&
      !used.hasData() &&
      `${idleData} has no effect: no data is prepared. Give the data to accelerator.prepare, and iterate over what it returns.`,
    (autoLog !== false || (logWith?.length ?? 0) > 0) &&
      !used.hasTrackers() &&
      `${autoLog === false ? 'logWith' : 'autoLog'} has no effect yet: no tracker has started. Call await accelerator.initTrackers(project) before the loop.`,
  ];
  return messages.filter((message) => message !== false);
}
