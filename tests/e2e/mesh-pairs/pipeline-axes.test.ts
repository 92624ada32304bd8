import * as tf from '@tensorflow/tfjs';
import { beforeAll, describe, expect, it } from 'vitest';
import { registerAccBackend } from '@acc/kernels';
import { resultsOfRanks } from '@acc/testkit';
import { expectNear, rms } from '../transformer/compare.js';
import { newFolder } from '../transformer/reference.js';
import { STEPS, train, type Case, type Trained } from './train.js';

const folder = newFolder();
const script = new URL('./ranks/train.ts', import.meta.url);

const LIMITED = { gradientClipping: { norm: 0.2 }, gradientAccumulationSteps: 2 } as const;
const AGAIN = { checkpointEvery: 1 } as const;
const PARTS = { microBatches: 4 } as const;
const ZERO_BUBBLE = { microBatches: 2, schedule: 'zeroBubble' } as const;

/** On one process. */
const SAME = {
  llama: { model: 'llama', options: LIMITED, save: 'llama' },
  'gpt2 in 16 bits': { model: 'gpt2', options: { mixedPrecision: 'bf16' } },
  'gpt2 by lamb': { model: 'gpt2', optimizer: 'lamb', options: LIMITED },
  experts: { model: 'experts', options: LIMITED },
  // The load-balancing loss of a micro-batch depends on its rows, so one process has the same.
  'balanced experts': { model: 'experts', balanceLoss: 0.05, pipelined: PARTS },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

interface OnMesh extends Case {
  readonly like: Name;
}

/** A case of one process on a mesh. */
function onMesh(like: Name, mesh: NonNullable<Case['mesh']>, more: Partial<Case> = {}): OnMesh {
  const { save: _, ...same }: Case = SAME[like];
  const pipelined = { microBatches: 2 };
  return { pipelined, ...same, ...more, options: { ...same.options, ...more.options }, mesh, like };
}

const FSDP = { pipeline: 2, fsdp: 2 };
const CONTEXT = { pipeline: 2, context: 2 };
const EXPERT = { pipeline: 2, expert: 2 };
/** The options of one stage of the strategy fsdp. */
const sharded = (stage: 1 | 2 | 3) => ({ strategy: 'fsdp', fsdp: { stage, bucketBytes: 2048 } }) as const;

const CASES: Readonly<Record<string, OnMesh>> = {
  'pipeline × fsdp, stage 1': onMesh('gpt2 by lamb', FSDP, { options: sharded(1), pipelined: ZERO_BUBBLE }),
  'pipeline × fsdp, stage 2': onMesh('gpt2 in 16 bits', FSDP, { options: sharded(2) }),
  'pipeline × fsdp, stage 3': onMesh('llama', FSDP, {
    options: { ...sharded(3), ...AGAIN },
    pipelined: ZERO_BUBBLE,
    save: 'pipeline × fsdp',
  }),
  'pipeline × expert': onMesh('experts', EXPERT, { options: AGAIN, save: 'pipeline × expert' }),
  'experts in a pipeline': onMesh('balanced experts', { pipeline: 4 }),
  'pipeline × context': onMesh('llama', CONTEXT, {
    options: { context: { attention: 'ring' }, ...AGAIN },
    pipelined: { microBatches: 2, schedule: 'interleaved' },
    save: 'pipeline × context',
  }),
};

/** The name says where it was saved and goes on. */
const RESUMED: Readonly<Record<string, OnMesh>> = {
  'one process on pipeline × fsdp': onMesh('llama', FSDP, { load: 'llama', options: sharded(2) }),
  'pipeline × context on pipeline × fsdp': onMesh('llama', FSDP, {
    load: 'pipeline × context',
    loadsLate: true,
    options: sharded(3),
  }),
  'pipeline × fsdp on pipeline × context': onMesh('llama', CONTEXT, { load: 'pipeline × fsdp' }),
  'pipeline × expert on data × expert': onMesh(
    'experts',
    { data: 2, expert: 2 },
    { load: 'pipeline × expert', pipelined: undefined },
  ),
};
const MICRO_BATCHES = 6;

let found: Record<string, Trained[]>;
const alone = {} as Record<Name, Trained>;

beforeAll(async () => {
  registerAccBackend();
  await tf.setBackend('acc');
  for (const [name, given] of Object.entries(SAME)) alone[name as Name] = await train(given, folder);
  const resumed = Object.entries(RESUMED).map(([name, given]) => [
    name,
    { ...given, stopAfter: MICRO_BATCHES },
  ]);
  const cases: Readonly<Record<string, Case>> = { ...CASES, ...Object.fromEntries(resumed) };
  const args = [JSON.stringify(Object.values(cases)), folder];
  const env = { OMP_NUM_THREADS: '1' };
  const ofRanks = await resultsOfRanks<Trained[]>({ script, ranks: 4, args, env, timeoutMs: 500_000 });
  found = Object.fromEntries(Object.keys(cases).map((name, i) => [name, ofRanks.map((each) => each[i]!)]));
}, 600_000);

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

describe('a pipeline and another axis', () => {
  it.each(Object.keys(CASES))('%s: four ranks train as one', (name) => {
    const { like, options } = CASES[name]!;
    const expected = alone[like];
    for (const each of found[name]!) {
      expect(each.losses.length).toBe(STEPS * (options?.gradientAccumulationSteps ?? 1));
      expectSame(each, expected, options?.mixedPrecision ? 1e-2 : 1e-4);
    }
    expect(expected.losses.at(-1)).toBeLessThan(expected.losses[0]!);
  });

  it.each(['pipeline × fsdp, stage 1', 'pipeline × fsdp, stage 2', 'pipeline × fsdp, stage 3'])(
    '%s: each rank has the optimizer state of its elements of a stage',
    (name) => {
      const { state } = alone[CASES[name]!.like];
      const all = found[name]!.map((each) => each.state);
      for (const own of all) expect(own).toBeLessThan(0.35 * state);
      // Ranks also count steps.
      expect(all.reduce((sum, own) => sum + own, 0) - state).toBeLessThan(16);
    },
  );
});

describe('a checkpoint', () => {
  it.each(Object.keys(RESUMED))('of %s: training goes on as without a break', (name) => {
    const { losses } = alone[RESUMED[name]!.like];
    const expected = losses.slice(losses.length / 2, losses.length / 2 + MICRO_BATCHES);
    for (const each of found[name]!) expectNear(each.losses, expected, 1e-4);
  });

  it.each([
    ['pipeline × fsdp', 'llama'],
    ['pipeline × expert', 'experts'],
  ] as const)('of %s: training goes on in one process', async (load, like) => {
    const { save: _, ...given }: Case = SAME[like];
    expectSame(await train({ ...given, load }, folder), alone[like], 1e-4);
  });
});
