import { beforeAll, describe, expect, it } from 'vitest';
import { AGAIN, LIMITED, MeshComparison, TOGETHER, type Cases } from './compare-meshes.js';
import { GPT2_STAGES, LLAMA_STAGES } from './stages.js';
import type { Case, Trained } from './train.js';

const PARTS = { microBatches: 4 } as const;
const ZERO_BUBBLE = { microBatches: 2, schedule: 'zeroBubble' } as const;
/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  'gpt2 in 16 bits': { model: 'gpt2', options: TOGETHER },
  'gpt2 by lamb': { model: 'gpt2', optimizer: 'lamb', options: LIMITED },
  experts: { model: 'experts', options: LIMITED },
  // The load-balancing loss of a micro-batch depends on its rows, so one process has the same.
  'balanced experts': { model: 'experts', balanceLoss: 0.05, pipelined: PARTS },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME, { pipelined: { microBatches: 2 } });
const onMesh = comparison.onMesh.bind(comparison);

const FSDP = { pipeline: 2, fsdp: 2 };
const CONTEXT = { pipeline: 2, context: 2 };
const EXPERT = { pipeline: 2, expert: 2 };
/** The options of one stage of the strategy fsdp. */
const sharded = (stage: 1 | 2 | 3) => ({ strategy: 'fsdp', fsdp: { stage, bucketBytes: 2048 } }) as const;

const CASES: Cases<Name> = {
  'pipeline × fsdp, stage 1': onMesh('gpt2 by lamb', FSDP, {
    options: sharded(1),
    pipelined: { ...ZERO_BUBBLE, ...GPT2_STAGES },
  }),
  'pipeline × fsdp, stage 2': onMesh('gpt2 in 16 bits', FSDP, {
    options: sharded(2),
    pipelined: { microBatches: 2, ...GPT2_STAGES },
  }),
  'pipeline × fsdp, stage 3': onMesh('llama', FSDP, {
    options: { ...sharded(3), ...AGAIN },
    pipelined: { ...ZERO_BUBBLE, ...LLAMA_STAGES },
    save: 'pipeline × fsdp',
  }),
  'pipeline × expert': onMesh('experts', EXPERT, { options: AGAIN, save: 'pipeline × expert' }),
  'pipeline × expert, experts in one stage': onMesh('experts', EXPERT, {
    pipelined: {
      microBatches: 2,
      stages: [
        ['wte', 'h.0', 'h.1'],
        ['ln_f', 'logits'],
      ],
    },
  }),
  'experts in a pipeline': onMesh('balanced experts', { pipeline: 4 }),
  'pipeline × context': onMesh('llama', CONTEXT, {
    options: { context: { attention: 'ring' }, ...AGAIN },
    pipelined: { microBatches: 2, schedule: 'interleaved' },
    save: 'pipeline × context',
  }),
  'pipeline × context in 16 bits': onMesh('gpt2 in 16 bits', CONTEXT),
};

/** The name says where it was saved and goes on. */
const RESUMED: Cases<Name> = {
  'one process on pipeline × fsdp': onMesh('llama', FSDP, { load: 'llama', options: sharded(2) }),
  'pipeline × context on pipeline × fsdp': onMesh('llama', FSDP, {
    load: 'pipeline × context',
    loadsLate: true,
    options: sharded(3),
  }),
  'pipeline × fsdp on pipeline × context': onMesh('llama', CONTEXT, { load: 'pipeline × fsdp' }),
  'pipeline × expert on pipeline × expert': onMesh('experts', EXPERT, { load: 'pipeline × expert' }),
  'pipeline × expert on data × expert': onMesh(
    'experts',
    { data: 2, expert: 2 },
    { load: 'pipeline × expert', pipelined: undefined },
  ),
};

let found: Record<string, Trained[]>;

beforeAll(async () => {
  await comparison.trainAlone();
  found = await comparison.trainOn(4, { ...CASES, ...comparison.resumed(RESUMED) });
}, 600_000);

describe('a pipeline and another axis', () => {
  it.each(Object.keys(CASES))('%s: four ranks train as one', (name) => {
    comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
  });

  it.each(['pipeline × fsdp, stage 1', 'pipeline × fsdp, stage 2', 'pipeline × fsdp, stage 3'])(
    '%s: each rank has the optimizer state of its elements of a stage',
    (name) => {
      const { state } = comparison.alone[CASES[name]!.like];
      const all = found[name]!.map((each) => each.state);
      for (const own of all) expect(own).toBeLessThan(0.35 * state);
      // Ranks also count steps.
      expect(all.reduce((sum, own) => sum + own, 0) - state).toBeLessThan(16);
    },
  );
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    comparison.expectResumed(RESUMED[name]!, found[name]!);
  });

  it.each([
    ['pipeline × fsdp', 'llama'],
    ['pipeline × expert', 'experts'],
  ] as const)('of %s: training goes on in one process', async (load, like) => {
    await comparison.expectResumedAlone(load, like);
  });
});
