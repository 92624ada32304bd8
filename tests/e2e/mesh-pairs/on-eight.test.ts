import { beforeAll, describe, it } from 'vitest';
import { onlyInRelease } from '../../only-in-release.js';
import { AGAIN, LIMITED, MeshComparison, type Cases } from './compare-meshes.js';
import { GPT2_STAGES } from './stages.js';
import type { Case, Trained } from './train.js';

/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  // Its embeddings are tied to its last layer.
  gpt2: { model: 'gpt2', options: LIMITED },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);
const onMesh = comparison.onMesh.bind(comparison);

const STAGED = { pipelined: { microBatches: 2 } };
const EIGHT = { data: 2, tensor: 2, pipeline: 2 };
const CUT = { ...STAGED, plan: 'auto', options: AGAIN } as const;
const SHARDED_EIGHT = { fsdp: 2, tensor: 2, pipeline: 2 };
const FSDP = { strategy: 'fsdp' } as const;
const CUT_SHARDED = { ...CUT, options: { ...AGAIN, ...FSDP } } as const;
const SHARDED = { plan: 'auto', options: FSDP } as const;

const ON_FOUR: Cases<Name> = {
  'pipeline × fsdp': onMesh(
    'gpt2',
    { pipeline: 2, fsdp: 2 },
    { options: FSDP, pipelined: { microBatches: 2, ...GPT2_STAGES }, save: 'pipeline × fsdp' },
  ),
  'fsdp × tensor': onMesh('llama', { fsdp: 2, tensor: 2 }, { ...SHARDED, save: 'fsdp × tensor' }),
};
const ON_EIGHT: Cases<Name> = {
  'data × tensor × pipeline': onMesh('llama', EIGHT, { ...CUT, save: 'eight' }),
  'fsdp × tensor × pipeline': onMesh('llama', SHARDED_EIGHT, { ...CUT_SHARDED, save: 'sharded eight' }),
  ...onlyInRelease({
    'data × fsdp × tensor': onMesh('llama', { data: 2, fsdp: 2, tensor: 2 }, SHARDED),
  }),
};

/** The name says where it was saved and goes on, to the end. */
const RESUMED_ON_EIGHT: Cases<Name> = {
  'pipeline × fsdp on eight ranks': onMesh('gpt2', EIGHT, { ...CUT, load: 'pipeline × fsdp' }),
  'eight ranks on sharded eight ranks': onMesh('llama', SHARDED_EIGHT, {
    ...CUT_SHARDED,
    load: 'eight',
    loadsLate: true,
  }),
  ...onlyInRelease({
    'one process on eight ranks': onMesh('llama', EIGHT, { ...CUT, load: 'llama' }),
    'one process on sharded eight ranks': onMesh('llama', SHARDED_EIGHT, { ...CUT_SHARDED, load: 'llama' }),
    'fsdp × tensor on eight ranks': onMesh('llama', EIGHT, {
      ...CUT,
      load: 'fsdp × tensor',
      loadsLate: true,
    }),
  }),
};
const RESUMED_ON_FOUR: Cases<Name> = {
  'sharded eight ranks on fsdp × tensor': onMesh(
    'llama',
    { fsdp: 2, tensor: 2 },
    { ...SHARDED, load: 'sharded eight' },
  ),
  ...onlyInRelease({
    'eight ranks on fsdp × tensor': onMesh('llama', { fsdp: 2, tensor: 2 }, { ...SHARDED, load: 'eight' }),
    'eight ranks on data × context': onMesh('llama', { data: 2, context: 2 }, { load: 'eight' }),
  }),
};
const RESUMED: Cases<Name> = { ...RESUMED_ON_EIGHT, ...RESUMED_ON_FOUR };

let trained: Record<string, Trained[]>;
let resumed: Record<string, Trained[]>;

beforeAll(async () => {
  await comparison.trainAlone();
  const onFour = await comparison.trainOn(4, ON_FOUR);
  const onEight = await comparison.trainOn(8, { ...ON_EIGHT, ...RESUMED_ON_EIGHT });
  resumed = { ...onEight, ...(await comparison.trainOn(4, RESUMED_ON_FOUR)) };
  trained = { ...onFour, ...onEight };
}, 600_000);

it.each(Object.keys({ ...ON_FOUR, ...ON_EIGHT }))('%s: ranks train as one', (name) => {
  comparison.expectTrainedAsOne({ ...ON_FOUR, ...ON_EIGHT }[name]!, trained[name]!);
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: the second half of the steps is that of the first run', (name) => {
    comparison.expectSecondHalf(RESUMED[name]!, resumed[name]!);
  });

  it.each([
    ['eight', 'llama'],
    ['sharded eight', 'llama'],
    ['fsdp × tensor', 'llama'],
  ] as const)('of %s: training goes on in one process', async (load, like) => {
    await comparison.expectResumedAlone(load, like);
  });
});
