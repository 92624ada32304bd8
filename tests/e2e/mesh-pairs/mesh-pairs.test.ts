import { beforeAll, describe, expect, it } from 'vitest';
import type { ParallelPlan } from '@acc/core';
import { onlyInRelease } from '../../only-in-release.js';
import { SEQUENCE } from '../tensor-parallel/plans.js';
import { AGAIN, LIMITED, MeshComparison, TOGETHER, type Cases } from './compare-meshes.js';
import { train, type Case, type Trained } from './train.js';

const EXPERTS: ParallelPlan = {
  wte: 'vocab',
  'h.*': 'sequence',
  'h.*/attn/q_proj': 'column',
  'h.*/attn/k_proj': 'column',
  'h.*/attn/v_proj': 'column',
  'h.*/attn/o_proj': 'row',
  'h.*/mlp/shared/c_fc': 'column',
  'h.*/mlp/shared/c_proj': 'row',
  ln_f: 'sequence',
};
const RING = { context: { attention: 'ring' } } as const;
const FSDP = { strategy: 'fsdp' } as const;

/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  gpt2: { model: 'gpt2' },
  'gpt2 in 16 bits': { model: 'gpt2', options: TOGETHER },
  'gpt2 by lamb': { model: 'gpt2', optimizer: 'lamb', options: LIMITED },
  experts: { model: 'experts', options: LIMITED, save: 'experts' },
  'experts by lamb': { model: 'experts', optimizer: 'lamb' },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);
const onMesh = comparison.onMesh.bind(comparison);

const EXPERT_TENSOR = { expert: 2, tensor: 2 };
const CONTEXT_TENSOR = { context: 2, tensor: 2 };
const DATA_TENSOR = { data: 2, tensor: 2 };
const FSDP_CONTEXT = { fsdp: 2, context: 2 };
const DATA_EXPERT = { data: 2, expert: 2 };
const CASES: Cases<Name> = {
  'context × tensor in a ring': onMesh('llama', CONTEXT_TENSOR, {
    plan: 'auto',
    options: AGAIN,
    save: 'context × tensor',
  }),
  'context × tensor by heads and along the sequence': onMesh('gpt2', CONTEXT_TENSOR, { plan: SEQUENCE }),
  'context × tensor in a ring and in 16 bits': onMesh('gpt2 in 16 bits', CONTEXT_TENSOR, {
    plan: 'auto',
    options: RING,
  }),
  'expert × tensor': onMesh('experts by lamb', EXPERT_TENSOR, { plan: 'auto' }),
  'expert × tensor along the sequence': onMesh('experts', EXPERT_TENSOR, { plan: EXPERTS, options: AGAIN }),
  'expert × context': onMesh(
    'experts',
    { expert: 2, context: 2 },
    { options: { ...AGAIN, ...RING }, save: 'expert × context' },
  ),
  'fsdp × context': onMesh('llama', FSDP_CONTEXT, { options: { ...FSDP, ...AGAIN } }),
  'fsdp × tensor': onMesh(
    'gpt2 by lamb',
    { fsdp: 2, tensor: 2 },
    { plan: SEQUENCE, options: { ...FSDP, ...AGAIN }, save: 'fsdp × tensor' },
  ),
  'data × context': onMesh('llama', { data: 2, context: 2 }, { options: { ...AGAIN, ...RING } }),
  'data × expert': onMesh('experts', DATA_EXPERT, { options: AGAIN, save: 'data × expert' }),
  'data × fsdp': onMesh('llama', { data: 2, fsdp: 2 }, { options: { ...FSDP, ...AGAIN } }),
  'data × tensor': onMesh('llama', DATA_TENSOR, { plan: 'auto', options: AGAIN, save: 'data × tensor' }),
  'fsdp × tensor in 16 bits': onMesh(
    'gpt2 in 16 bits',
    { fsdp: 2, tensor: 2 },
    { plan: SEQUENCE, options: FSDP },
  ),
  // together.test.ts has 16 bits on each pair of axes.
  ...onlyInRelease({
    'data × tensor in 16 bits': onMesh('gpt2 in 16 bits', DATA_TENSOR, { plan: 'auto' }),
    'data × context in 16 bits': onMesh('gpt2 in 16 bits', { data: 2, context: 2 }, { options: RING }),
    'fsdp × context in 16 bits': onMesh('gpt2 in 16 bits', FSDP_CONTEXT, { options: FSDP }),
  }),
};

/** The name says where it was saved and goes on. */
const RESUMED: Cases<Name> = {
  'one process on context × tensor': onMesh('llama', CONTEXT_TENSOR, { plan: 'auto', load: 'llama' }),
  'data × tensor on fsdp × context': onMesh('llama', FSDP_CONTEXT, {
    options: FSDP,
    load: 'data × tensor',
  }),
  'fsdp × tensor on data × tensor': onMesh('gpt2 by lamb', DATA_TENSOR, {
    plan: 'auto',
    load: 'fsdp × tensor',
  }),
  'expert × context on expert × tensor': onMesh('experts', EXPERT_TENSOR, {
    plan: 'auto',
    load: 'expert × context',
  }),
  ...onlyInRelease({
    'context × tensor on data × tensor': onMesh('llama', DATA_TENSOR, {
      plan: 'auto',
      load: 'context × tensor',
    }),
    'data × expert on expert × tensor': onMesh('experts', EXPERT_TENSOR, {
      plan: 'auto',
      load: 'data × expert',
    }),
    'expert × context on data × expert': onMesh('experts', DATA_EXPERT, { load: 'expert × context' }),
  }),
};

/** Half of the steps, and then some on a mesh with another axis. */
const DROPPING = { model: 'gpt2', dropout: 0.2 } as const;
const DROPS: Readonly<Record<string, Case>> = {
  'dropout on data × context': {
    ...DROPPING,
    mesh: { data: 2, context: 2 },
    save: 'dropout',
    saveAfter: 2,
    stopAfter: 2,
  },
  'dropout on context × tensor': {
    ...DROPPING,
    mesh: CONTEXT_TENSOR,
    plan: 'auto',
    load: 'dropout',
    stopAfter: 4,
  },
};

let found: Record<string, Trained[]>;

beforeAll(async () => {
  await comparison.trainAlone();
  await train({ ...SAME.llama, saveAfter: 7, stopAfter: 7, save: 'open' }, comparison.folder);
  const open = onMesh('llama', CONTEXT_TENSOR, { plan: 'auto', load: 'open' });
  found = await comparison.trainOn(4, { ...CASES, ...comparison.resumed(RESUMED), ...DROPS, open });
}, 600_000);

describe('two axes of a mesh', () => {
  it.each(Object.keys(CASES))('%s: four ranks train as one', (name) => {
    comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
  });
});

it('exchanges along the sequence have the heads of a rank', () => {
  const bytes = (name: string) => found[name]!.map(({ sent }) => sent['context']!.bytes);
  // Two blocks. Every rank sends 12 numbers of shapes, and a head of keys and of values, 4 by 4 each.
  // A half of that, of two heads of queries, and of their results, makes the ranks balanced. The slot of
  // keys and values has one header of 11 numbers.
  const ofRing = 4 * (2 * (12 + 2 * 4 * 4 + (2 + 2 + 2) * 2 * 4) + 11);
  expect(bytes('context × tensor in a ring')).toEqual([ofRing, ofRing, ofRing, ofRing]);
  // Half of two heads of queries, keys, values and results.
  expect(bytes('context × tensor by heads and along the sequence')).toEqual([512, 512, 512, 512]);
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    comparison.expectResumed(RESUMED[name]!, found[name]!);
  });

  it.each([
    ['context × tensor', 'llama'],
    ['expert × context', 'experts'],
    ['data × expert', 'experts'],
    ['fsdp × tensor', 'gpt2 by lamb'],
  ] as const)('of %s: training goes on in one process', async (load, like) => {
    await comparison.expectResumedAlone(load, like);
  });

  it('of an open window is refused with another size of the axis tensor', () => {
    expect(found['open']).toEqual(Array(4).fill('ACC_CHECKPOINT_MISMATCH'));
  });
});

it.each(Object.keys(DROPS))('%s: ranks draw alike where they have the same', (name) => {
  const all = found[name]!;
  for (const each of all) expect(each.read).toEqual(all[0]!.read);
});
