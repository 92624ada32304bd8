import { AccError } from '@acc/contract';
import { notInBrowser } from '@acc/platform';
import type { AcceleratorOptions } from '../options.js';
import type * as requirements from './requirements.js';

const ONE_PROCESS = 'Leave it out: a page trains in one process.';
const SMALLER = 'Leave it out, and use checkpointEvery to train with less memory.';

/**
 * Refuses options that a page cannot follow.
 *
 * @throws AccError `ACC_NOT_IN_BROWSER`.
 */
export function requireAvailable({
  engine,
  device,
  collective,
  ddp,
  fsdp,
  deterministic,
  checkpoint,
}: AcceleratorOptions): void {
  const refused: readonly (readonly [boolean, string, string])[] = [
    [
      engine === 'acc',
      "engine 'acc' needs libtorch, a native library",
      "Leave it out. The active tfjs backend is used: 'webgl', 'webgpu', 'wasm' or 'cpu'.",
    ],
    [device === 'cuda', "device 'cuda' needs libtorch, a native library", 'Leave it out.'],
    [collective !== undefined, 'The option collective needs several processes', ONE_PROCESS],
    [
      deterministic !== undefined && deterministic !== false,
      'The option deterministic needs several processes',
      ONE_PROCESS,
    ],
    [ddp?.commHook !== undefined, 'The option ddp.commHook needs several processes', ONE_PROCESS],
    [
      fsdp?.mixedPrecision?.buffer !== undefined,
      'The option fsdp.mixedPrecision.buffer needs several processes',
      ONE_PROCESS,
    ],
    [fsdp?.cpuOffload === true, 'The option fsdp.cpuOffload needs memory beside that of a GPU', SMALLER],
    [fsdp?.offload !== undefined, 'The option fsdp.offload needs files that are read synchronously', SMALLER],
    [
      checkpoint?.preemption === true,
      'The option checkpoint.preemption needs signals',
      'Leave it out, and save with saveState(), for example at the end of each epoch.',
    ],
  ];
  for (const [isGiven, what, help] of refused) if (isGiven) throw notInBrowser(what, help);
}

/** Whether libtorch may be installed here. */
export const mayHaveNative = false;

/** A page has one process, so it needs no help with axes and stages. */
export const OPTION_HELP: Readonly<Record<string, string>> = {};

/** A page is one process, whose options exclude nothing. Only a strategy of the program may shard. */
export const axesOf: typeof requirements.axesOf = () => [];
export const featuresOf: typeof requirements.featuresOf = () => [];
export const featuresOfRun: typeof requirements.featuresOfRun = (_, { traits }) =>
  new Set(traits.parameters === 'sharded' ? (['ownSharding'] as const) : []);
export const requireTogether: typeof requirements.requireTogether = (features, call) => {
  if (!['join', 'apart', 'noSync'].includes(call!) || !new Set(features).has('ownSharding')) return;
  throw new AccError('ACC_STRATEGY_CANNOT', 'This call needs all weights, which the strategy divides.', {
    help: 'Use a strategy that replicates parameters.',
  });
};
