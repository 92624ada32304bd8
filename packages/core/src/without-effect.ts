import type { Plugin, StepInfo } from '@acc/contract';
import type { ResolvedOptions } from './options.js';

/** What has been prepared or started by the first step. */
export interface Used {
  readonly hasModel: () => boolean;
  readonly hasData: () => boolean;
  readonly hasTrackers: () => boolean;
  /** The step that is being taken belongs to a micro-batch of `accumulate` or `fit`. */
  readonly isInWindow: () => boolean;
}

/** Looks at the first step whether each option has what it acts on, and warns of those that have not. */
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
  const { gradientAccumulationSteps, checkpointEvery, dataLoader, autoLog, logWith } = options;
  const { splitBatches, evenBatches, shuffle } = dataLoader;
  const isDataGiven = splitBatches || !evenBatches || !shuffle;
  const messages = [
    ...withoutPartner(options),
    gradientAccumulationSteps > 1 &&
      !used.isInWindow() &&
      `gradientAccumulationSteps is ${gradientAccumulationSteps}, but the first step was taken outside accelerator.accumulate(): each micro-batch takes a step.`,
    checkpointEvery !== undefined &&
      !used.hasModel() &&
      'checkpointEvery has no effect: no LayersModel is prepared. Put checkpoint(fn, inputs) around parts of the loss function.',
    isDataGiven &&
      !used.hasData() &&
      !isInFit &&
      'dataLoader has no effect: no data is prepared. Give the data to accelerator.prepare, and iterate over what it returns.',
    (autoLog !== false || (logWith?.length ?? 0) > 0) &&
      !used.hasTrackers() &&
      `${autoLog === false ? 'logWith' : 'autoLog'} has no effect yet: no tracker has started. Call await accelerator.initTrackers(project) before the loop.`,
  ];
  return messages.filter((message) => message !== false);
}

/** Options that act only beside a certain value of another one. */
function withoutPartner({ mixedPrecision, amp = {}, strategy, ddp = {} }: ResolvedOptions): string[] {
  const given = (record: object, names: readonly string[]) =>
    names.filter((name) => (record as Record<string, unknown>)[name] !== undefined);
  const ofPrecision = given(amp, ['lower', 'float32']);
  const ofDdp = given(ddp, Object.keys(ddp)).filter((name) => !OF_THE_GROUP.includes(name));
  const isDdp = ['auto', 'ddp'].includes(strategy as string);
  const messages = [
    mixedPrecision === 'no' &&
      ofPrecision.length > 0 &&
      `amp.${ofPrecision[0]} has no effect: mixedPrecision is 'no'. Give mixedPrecision: 'bf16' or 'fp16'.`,
    mixedPrecision !== 'fp16' &&
      amp.lossScale !== undefined &&
      `amp.lossScale has no effect: mixedPrecision is '${mixedPrecision}', and only 'fp16' scales losses.`,
    !isDdp &&
      ofDdp.length > 0 &&
      `ddp.${ofDdp[0]} has no effect: strategy is '${typeof strategy === 'object' ? strategy.name : strategy}'.`,
  ];
  return messages.filter((message) => message !== false);
}

/** Members of `ddp` that hold whatever the strategy. */
const OF_THE_GROUP: readonly string[] = ['timeoutMs', 'engine'];
