import { beforeAll, describe, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';
import type { Trained, Way } from './ranks/weighed-meshes.js';

type Results = Readonly<Record<string, Trained>>;

const module = new URL('./ranks/weighed-meshes.ts', import.meta.url);
const gpt2 = { model: 'gpt2' } as const;
const moe = { model: 'moe' } as const;

/** By the number of ranks. */
const WAYS: Readonly<Record<number, Readonly<Record<string, Way>>>> = {
  1: {
    'gpt2, 1 step': { ...gpt2, steps: 1 },
    'gpt2, 2 steps': { ...gpt2, steps: 2 },
    'moe, 1 step': { ...moe, steps: 1 },
    'moe, 2 steps': { ...moe, steps: 2 },
    'norm, 2 steps': { model: 'norm', steps: 2 },
    'mean of norm, 2 steps': { model: 'norm', steps: 2, isMean: true },
    'mean of moe, 1 step': { ...moe, steps: 1, isMean: true },
    'mean of moe, 2 steps': { ...moe, steps: 2, isMean: true },
  },
  2: {
    'gpt2, 1 step, context': { ...gpt2, steps: 1, mesh: { context: 2 } },
    'gpt2, 2 steps, context': { ...gpt2, steps: 2, mesh: { context: 2 } },
    'gpt2, 2 steps, data': { ...gpt2, steps: 2, mesh: { data: 2 } },
    'gpt2, 2 steps, pipeline': { ...gpt2, steps: 2, microBatches: 2, mesh: { pipeline: 2 } },
    'norm, 2 steps, data': { model: 'norm', steps: 2, mesh: { data: 2 } },
    'mean of norm, 2 steps, data': { model: 'norm', steps: 2, isMean: true, mesh: { data: 2 } },
    'moe, 1 step, expert': { ...moe, steps: 1, mesh: { expert: 2 } },
    'moe, 2 steps, expert': { ...moe, steps: 2, mesh: { expert: 2 } },
    'mean of moe, 2 steps, expert': { ...moe, steps: 2, isMean: true, mesh: { expert: 2 } },
  },
  4: {
    'gpt2, 2 steps, context × data': { ...gpt2, steps: 2, mesh: { data: 2, context: 2 } },
    'gpt2, 1 step, pipeline × context': piped(gpt2, 1, { pipeline: 2, context: 2 }),
    'gpt2, 2 steps, pipeline × context': piped(gpt2, 2, { pipeline: 2, context: 2 }),
    'gpt2, 2 steps, pipeline × data': piped(gpt2, 2, { pipeline: 2, data: 2 }),
    'moe, 1 step, pipeline × expert': piped(moe, 1, { pipeline: 2, expert: 2 }),
    'moe, 2 steps, pipeline × expert': piped(moe, 2, { pipeline: 2, expert: 2 }),
    'moe, 1 step, pipeline × data': piped(moe, 1, { pipeline: 2, data: 2 }),
    'mean of moe, 1 step, pipeline × expert': mean(1, { pipeline: 2, expert: 2 }),
    'mean of moe, 2 steps, pipeline × expert': mean(2, { pipeline: 2, expert: 2 }),
  },
};
const results = new Map<number, readonly Results[]>();

function piped(of: Pick<Way, 'model'>, steps: number, mesh: Way['mesh'] & object): Way {
  return { ...of, steps, mesh, microBatches: 2 };
}

function mean(steps: number, mesh: Way['mesh'] & object): Way {
  return { ...moe, steps, mesh, microBatches: 1, isMean: true };
}

beforeAll(async () => {
  for (const [count, args] of Object.entries(WAYS)) {
    const ranks = Number(count);
    const env = { OMP_NUM_THREADS: '1' };
    results.set(ranks, await onRanks<Results>({ module, ranks, args, env }));
  }
}, 520_000);

describe.each([1, 2, 4])('on %i ranks', (ranks) => {
  it.each(Object.keys(WAYS[ranks]!))('weighs tokens as plain tfjs does with whole windows: %s', (way) => {
    const plain = results.get(1)![0]![`plain ${way.split(', ').slice(0, 2).join(', ')}`]!;
    for (const each of results.get(ranks)!) {
      const { losses, weights } = each[way]!;
      expectClose(losses, plain.losses, { rtol: 1e-5, atol: 0 });
      expect(weights).toHaveLength(plain.weights.length);
      weights.forEach((values, i) => expectClose(values, plain.weights[i]!, { rtol: 1e-5, atol: 2e-6 }));
    }
  });
});
