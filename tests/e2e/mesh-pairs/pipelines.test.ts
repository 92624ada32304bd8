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
const LIMITED = { gradientClipping: { norm: 0.2 }, gradientAccumulationSteps: 2 } as const;
const AGAIN = { checkpointEvery: 1 } as const;

/** On one process, without stages. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  // Its embeddings are tied to its last layer.
  gpt2: { model: 'gpt2' },
  'gpt2 in 16 bits': { model: 'gpt2', options: { mixedPrecision: 'bf16' } },
  experts: { model: 'experts', options: LIMITED },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

interface OnMesh extends Case {
  readonly like: Name;
}

function onMesh(like: Name, mesh: NonNullable<Case['mesh']>, more: Partial<Case>): OnMesh {
  const { save: _, ...same }: Case = SAME[like];
  return {
    pipelined: { microBatches: 2 },
    ...same,
    ...more,
    options: { ...same.options, ...more.options },
    mesh,
    like,
  };
}

const TENSOR = { tensor: 2, pipeline: 2 };
const ON_FOUR: Readonly<Record<string, OnMesh>> = {
  'tensor × pipeline': onMesh('llama', TENSOR, { plan: 'auto', options: AGAIN, save: 'tensor × pipeline' }),
  'tensor × pipeline with interleaved stages': onMesh('llama', TENSOR, {
    plan: 'auto',
    pipelined: { microBatches: 2, schedule: 'interleaved' },
  }),
  'tensor × pipeline along the sequence, without a bubble': onMesh('gpt2', TENSOR, {
    plan: SEQUENCE,
    pipelined: { microBatches: 4, schedule: 'zeroBubble' },
  }),
  'tensor × pipeline in 16 bits': onMesh('gpt2 in 16 bits', TENSOR, { plan: 'auto' }),
  'tensor × pipeline with experts': onMesh('experts', TENSOR, { plan: 'auto' }),
  'data × pipeline with experts': onMesh('experts', { data: 2, pipeline: 2 }, { options: AGAIN }),
};

/** The name says where it was saved and goes on. */
const RESUMED: Readonly<Record<string, OnMesh>> = {
  'one process on tensor × pipeline': onMesh('llama', TENSOR, { plan: 'auto', load: 'llama' }),
  'tensor × pipeline on data × pipeline': onMesh(
    'llama',
    { data: 2, pipeline: 2 },
    { load: 'tensor × pipeline' },
  ),
};
const MICRO_BATCHES = 6;

const ON_EIGHT: Readonly<Record<string, OnMesh>> = {
  'data × tensor × pipeline': onMesh(
    'llama',
    { data: 2, ...TENSOR },
    { plan: 'auto', options: AGAIN, save: 'eight' },
  ),
  'data × tensor × pipeline along the sequence': onMesh('gpt2', { data: 2, ...TENSOR }, { plan: SEQUENCE }),
};

const alone = {} as Record<Name, Trained>;
let onFour: Record<string, Trained[]>;
let onEight: Record<string, Trained[]>;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  for (const [name, given] of Object.entries(SAME)) alone[name as Name] = await train(given, folder);
  const resumed = Object.entries(RESUMED).map(([name, given]) => [
    name,
    { ...given, stopAfter: MICRO_BATCHES },
  ]);
  onFour = await trainOn(4, { ...ON_FOUR, ...(Object.fromEntries(resumed) as typeof RESUMED) });
  onEight = await trainOn(8, ON_EIGHT);
}, 900_000);

async function trainOn(
  ranks: number,
  cases: Readonly<Record<string, Case>>,
): Promise<Record<string, Trained[]>> {
  const args = [JSON.stringify(Object.values(cases)), folder];
  const env = { OMP_NUM_THREADS: '1' };
  const ofRanks = await resultsOfRanks<Trained[]>({ script, ranks, args, env, timeoutMs: 400_000 });
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

describe('a pipeline of stages that are cut', () => {
  it.each(Object.keys({ ...ON_FOUR, ...ON_EIGHT }))('%s: ranks train as one', (name) => {
    const { like, options } = { ...ON_FOUR, ...ON_EIGHT }[name]!;
    const expected = alone[like];
    for (const each of { ...onFour, ...onEight }[name]!) {
      expect(each.losses.length).toBe(STEPS * (options?.gradientAccumulationSteps ?? 1));
      expectSame(each, expected, options?.mixedPrecision ? 1e-2 : 1e-4);
    }
    expect(expected.losses.at(-1)).toBeLessThan(expected.losses[0]!);
  });
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    const { losses } = alone[RESUMED[name]!.like];
    const expected = losses.slice(losses.length / 2, losses.length / 2 + MICRO_BATCHES);
    for (const each of onFour[name]!) expectNear(each.losses, expected, 1e-4);
  });

  it.each(['tensor × pipeline', 'eight'])('of %s: training goes on in one process', async (load) => {
    const { save: _, ...given } = SAME.llama;
    expectSame(await train({ ...given, load }, folder), alone.llama, 1e-4);
  });
});
