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

/** What a case trains; on one process, without its mesh. */
const SAME = {
  llama: { model: 'llama', options: LIMITED },
  gpt2: { model: 'gpt2' },
  'gpt2 in 16 bits': { model: 'gpt2', options: HALF },
  experts: { model: 'experts', options: LIMITED },
} satisfies Record<string, Case>;

interface OnMesh extends Case {
  readonly like: keyof typeof SAME;
}

const onMesh = (like: keyof typeof SAME, given: Omit<Case, 'model'>): OnMesh => ({
  ...SAME[like],
  ...given,
  like,
});

const CONTEXT_TENSOR = { context: 2, tensor: 2 };
const CASES: Readonly<Record<string, OnMesh>> = {
  'context × tensor, in a ring': onMesh('llama', {
    mesh: CONTEXT_TENSOR,
    plan: 'auto',
    options: { ...LIMITED, ...AGAIN },
  }),
  'context × tensor, by heads and along the sequence': onMesh('gpt2', {
    mesh: CONTEXT_TENSOR,
    plan: SEQUENCE,
  }),
  'context × tensor, 16 bits in a ring': onMesh('gpt2 in 16 bits', {
    mesh: CONTEXT_TENSOR,
    plan: 'auto',
    options: { ...HALF, ...RING },
  }),
  'expert × tensor': onMesh('experts', { mesh: { expert: 2, tensor: 2 }, plan: 'auto' }),
  'expert × tensor, along the sequence': onMesh('experts', {
    mesh: { expert: 2, tensor: 2 },
    plan: EXPERTS,
    options: { ...LIMITED, ...AGAIN },
  }),
  'expert × context': onMesh('experts', {
    mesh: { expert: 2, context: 2 },
    options: { ...LIMITED, ...AGAIN, ...RING },
  }),
};

let found: Record<string, Trained[]>;
const alone = {} as Record<keyof typeof SAME, Trained>;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  for (const [name, given] of Object.entries(SAME)) {
    alone[name as keyof typeof SAME] = await train(given, folder);
  }
  found = await trainOnFour(CASES);
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
    console.log(name, JSON.stringify(found[name]!.map(f=>f.sent)));
    expect(expected.losses.at(-1)).toBeLessThan(expected.losses[0]!);
  });
});
