import { beforeAll, describe, expect, it } from 'vitest';
import { onlyInRelease } from '../../only-in-release.js';
import { onRanks } from '../on-ranks.js';
import { SAME_KERNELS } from '../same-kernels.js';
import { SEQUENCE } from '../tensor-parallel/plans.js';
import { GPT2_STAGES } from './stages.js';
import type { Case, Trained } from './train.js';

const AUTO = { plan: 'auto' } as const;
const DATA_TENSOR = { data: 2, tensor: 2 };
const CONTEXT_TENSOR = { context: 2, tensor: 2 };
const PIPELINE_TENSOR = { pipeline: 2, tensor: 2 };
const [FIRST, LAST] = GPT2_STAGES.stages;

/** The fourth and later ones are replayed. */
const STEPS = 6;

/** Steps that are replayed. */
const CASES: Readonly<Record<string, Case>> = {
  'data × tensor': {
    model: 'gpt2',
    mesh: DATA_TENSOR,
    ...AUTO,
    dropout: 0.2,
    options: { gradientClipping: { norm: 0.2 } },
  },
  'context × tensor': { model: 'llama', mesh: CONTEXT_TENSOR, ...AUTO, options: { checkpointEvery: 1 } },
  'context × tensor in a ring': {
    model: 'gpt2',
    mesh: CONTEXT_TENSOR,
    plan: SEQUENCE,
    options: { context: { attention: 'ring' } },
  },
  'pipeline × tensor': {
    model: 'gpt2',
    mesh: PIPELINE_TENSOR,
    ...AUTO,
    dropout: 0.2,
    pipelined: { microBatches: 2, stages: [[...FIRST, 'drop'], LAST] },
  },
  ...onlyInRelease<Case>({
    'data × tensor along the sequence': { model: 'gpt2', mesh: DATA_TENSOR, plan: SEQUENCE },
    'context × fsdp': {
      model: 'gpt2',
      mesh: { fsdp: 2, context: 2 },
      options: { strategy: 'fsdp', context: { attention: 'ring' } },
    },
    'pipeline × tensor along the sequence': {
      model: 'gpt2',
      mesh: PIPELINE_TENSOR,
      plan: SEQUENCE,
      pipelined: { microBatches: 2, ...GPT2_STAGES },
    },
  }),
};

/** Steps that are not. */
const REFUSED = {
  dropped: { model: 'gpt2', mesh: CONTEXT_TENSOR, ...AUTO, dropout: 0.2 },
  experts: { model: 'experts', mesh: { expert: 2, tensor: 2 }, ...AUTO },
  sharded: { model: 'gpt2', mesh: { fsdp: 2, tensor: 2 }, ...AUTO, options: { strategy: 'fsdp' } },
} satisfies Record<string, Case>;

let plain: Record<string, Trained[]>;
let compiled: Record<string, Trained[]>;
let refused: Record<keyof typeof REFUSED, (Trained | string)[]>;

beforeAll(async () => {
  const names = Object.keys(CASES);
  const cases = names.flatMap((name): Case[] => {
    const given = { ...CASES[name]!, steps: STEPS };
    return [given, { ...given, isCompiled: true }];
  });
  const others = Object.values<Case>(REFUSED).map((each) => ({ ...each, isCompiled: true }));
  const found = await onRanks<(Trained | string)[]>({
    module: new URL('./ranks/train.ts', import.meta.url),
    ranks: 4,
    args: { cases: [...cases, ...others], folder: '' },
    env: SAME_KERNELS,
    timeoutMs: 280_000,
  });
  const listOf = (at: (i: number) => number) =>
    Object.fromEntries(names.map((name, i) => [name, found.map((each) => each[at(i)] as Trained)]));
  plain = listOf((i) => 2 * i);
  compiled = listOf((i) => 2 * i + 1);
  refused = Object.fromEntries(
    Object.keys(REFUSED).map((name, i) => [name, found.map((each) => each[cases.length + i]!)]),
  ) as typeof refused;
});

it.each(Object.keys(CASES))('%s: replays give the same bits', (name) => {
  plain[name]!.forEach(({ losses, weights, change, left }, rank) => {
    const replayed = compiled[name]![rank]!;
    expect([replayed.replays, replayed.reason]).toEqual([STEPS - 3, undefined]);
    expect(replayed.losses).toEqual(losses);
    expect(replayed.weights).toEqual(weights);
    expect(replayed.left).toBe(left);
    expect(change).toBeGreaterThan(0.005);
  });
});

describe('refuses', () => {
  it('draws for the heads of a rank', () => {
    for (const given of refused.dropped)
      expect(given).toMatchObject({ replays: 0, reason: expect.stringMatching(/drops attention/) as string });
  });

  it.each(['experts', 'sharded'] as const)('%s', (name) => {
    expect(refused[name]).toEqual(Array(4).fill('ACC_STRATEGY_CANNOT'));
  });
});
