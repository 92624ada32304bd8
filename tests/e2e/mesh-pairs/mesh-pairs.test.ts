import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import type { ParallelPlan } from '@acc/core';
import { registerAccBackend } from '@acc/kernels';
import { resultsOfRanks } from '@acc/testkit';
import { expectNear, rms } from '../transformer/compare.js';
import { newFolder } from '../transformer/reference.js';
import { STEPS, train, type Case, type Trained } from './train.js';

const folder = newFolder();
const script = new URL('./ranks/train.ts', import.meta.url);

const SEQUENCE: ParallelPlan = {
  wte: 'vocab',
  'h.*': 'sequence',
  'h.*/attn/c_attn': 'column',
  'h.*/attn/c_proj': 'row',
  'h.*/mlp/c_fc': 'column',
  'h.*/mlp/c_proj': 'row',
  ln_f: 'sequence',
};
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
const LIMITED = { gradientClipping: { norm: 0.2 }, gradientAccumulationSteps: 2 } as const;
const AGAIN = { checkpointEvery: 1 } as const;
const HALF = { mixedPrecision: 'bf16' } as const;
const RING = { context: { attention: 'ring' } } as const;
const FSDP = { strategy: 'fsdp' } as const;

/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  gpt2: { model: 'gpt2' },
  'gpt2 in 16 bits': { model: 'gpt2', options: HALF },
  'gpt2 by lamb': { model: 'gpt2', optimizer: 'lamb', options: LIMITED },
  experts: { model: 'experts', options: LIMITED, save: 'experts' },
  'experts by lamb': { model: 'experts', optimizer: 'lamb' },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

interface OnMesh extends Case {
  readonly like: Name;
}

/** A case of one process on a mesh. */
function onMesh(like: Name, mesh: NonNullable<Case['mesh']>, more: Partial<Case> = {}): OnMesh {
  const { save: _, ...same }: Case = SAME[like];
  return { ...same, ...more, options: { ...same.options, ...more.options }, mesh, like };
}

const EXPERT_TENSOR = { expert: 2, tensor: 2 };
const CONTEXT_TENSOR = { context: 2, tensor: 2 };
const DATA_TENSOR = { data: 2, tensor: 2 };
const FSDP_CONTEXT = { fsdp: 2, context: 2 };
const CASES: Readonly<Record<string, OnMesh>> = {
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
  'fsdp × tensor': onMesh('gpt2 by lamb', { fsdp: 2, tensor: 2 }, { plan: SEQUENCE, options: FSDP }),
  'data × tensor': onMesh('llama', DATA_TENSOR, { plan: 'auto', options: AGAIN, save: 'data × tensor' }),
};

/** The name says where it was saved and goes on. */
const RESUMED: Readonly<Record<string, OnMesh>> = {
  'one process on context × tensor': onMesh('llama', CONTEXT_TENSOR, { plan: 'auto', load: 'llama' }),
  'context × tensor on data × tensor': onMesh('llama', DATA_TENSOR, {
    plan: 'auto',
    load: 'context × tensor',
  }),
  'data × tensor on fsdp × context': onMesh('llama', FSDP_CONTEXT, {
    options: FSDP,
    load: 'data × tensor',
  }),
  'expert × context on expert × tensor': onMesh('experts', EXPERT_TENSOR, {
    plan: 'auto',
    load: 'expert × context',
  }),
};
const MICRO_BATCHES = 6;

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
const alone = {} as Record<Name, Trained>;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  for (const [name, given] of Object.entries(SAME)) {
    alone[name as Name] = await train(given, folder);
  }
  await train({ ...SAME.llama, saveAfter: 21, stopAfter: 21, save: 'open' }, folder);
  const resumed = Object.entries(RESUMED).map(([name, given]) => [
    name,
    { ...given, stopAfter: MICRO_BATCHES },
  ]);
  const open = onMesh('llama', CONTEXT_TENSOR, { plan: 'auto', load: 'open' });
  const others = { ...Object.fromEntries(resumed), ...DROPS, open };
  found = await trainOnFour({ ...CASES, ...others });
}, 600_000);

async function trainOnFour(cases: Readonly<Record<string, Case>>): Promise<Record<string, Trained[]>> {
  const args = [JSON.stringify(Object.values(cases)), folder];
  const env = { OMP_NUM_THREADS: '1' };
  const ofRanks = await resultsOfRanks<Trained[]>({ script, ranks: 4, args, env, timeoutMs: 500_000 });
  return Object.fromEntries(Object.keys(cases).map((name, i) => [name, ofRanks.map((each) => each[i]!)]));
}

function expectSame(actual: Trained, expected: Trained, rtol: number): void {
  expectNear(actual.losses, expected.losses.slice(-actual.losses.length), rtol);
  const size = Math.max(...Object.values(expected.weights).map((values) => rms(values)));
  expect(Object.keys(actual.weights)).toEqual(Object.keys(expected.weights));
  for (const [name, values] of Object.entries(expected.weights)) {
    expectNear(actual.weights[name]!, values, rtol, size);
  }
  expect(actual.read).toEqual(actual.weights);
  expect(actual.left).toBe(1);
}

describe('two axes of a mesh', () => {
  it.each(Object.keys(CASES))('%s: four ranks train as one', (name) => {
    const { like, options } = CASES[name]!;
    const expected = alone[like];
    for (const each of found[name]!) {
      expect(each.losses.length).toBe(STEPS * (options?.gradientAccumulationSteps ?? 1));
      expectSame(each, expected, options?.mixedPrecision ? 1e-2 : 1e-4);
    }
    expect(expected.losses.at(-1)).toBeLessThan(expected.losses[0]!);
  });
});

it('exchanges along the sequence have the heads of a rank', () => {
  const bytes = (name: string) => found[name]!.map(({ sent }) => sent['context']!.bytes);
  // Two blocks. The first rank sends a head of keys and of values, 4 by 4 numbers each, and 12 of shapes.
  const ofRing = 2 * 4 * (2 * 4 * 4 + 12);
  expect(bytes('context × tensor in a ring')).toEqual([ofRing, ofRing, 0, 0]);
  // Half of two heads of queries, keys, values and results.
  expect(bytes('context × tensor by heads and along the sequence')).toEqual([512, 512, 512, 512]);
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    const { losses } = alone[RESUMED[name]!.like];
    const expected = losses.slice(losses.length / 2, losses.length / 2 + MICRO_BATCHES);
    for (const each of found[name]!) expectNear(each.losses, expected, 1e-4);
  });

  it.each([
    ['context × tensor', 'llama'],
    ['expert × context', 'experts'],
  ] as const)('of %s: training goes on in one process', async (load, like) => {
    const { save: _, ...given } = SAME[like];
    expectSame(await train({ ...given, load }, folder), alone[like], 1e-4);
  });

  it('of an open window is refused with another size of the axis tensor', () => {
    expect(found['open']).toEqual(Array(4).fill('ACC_CHECKPOINT_MISMATCH'));
  });
});

it.each(Object.keys(DROPS))('%s: ranks draw alike where they have the same', (name) => {
  const all = found[name]!;
  for (const each of all) expect(each.read).toEqual(all[0]!.read);
});
