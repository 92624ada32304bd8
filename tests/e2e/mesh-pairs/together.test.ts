import { beforeAll, describe, expect, it } from 'vitest';
import { onlyInRelease } from '../../only-in-release.js';
import { casesOn, FP16_GROWING, BF16 } from './cases-on-axes.js';
import { AGAIN, LIMITED, MeshComparison, TOGETHER, type Cases } from './compare-meshes.js';
import { SIGNS } from './integers.js';
import type { Case, Trained } from './train.js';

const FP16 = { ...TOGETHER, mixedPrecision: 'fp16', amp: { lossScale: { initial: 1024 } } } as const;
/**
 * The first scale is too large. How large it may be depends on the rows of a rank, over which its loss is a
 * mean, so only ranks with all rows skip the steps that one process skips.
 */
const OVERFLOWING = { mixedPrecision: 'fp16', amp: { lossScale: { growthInterval: 3 } } } as const;
/** On one process. */
const SAME = {
  llama: { model: 'llama', options: { ...LIMITED, ...AGAIN } },
  experts: { model: 'experts', options: { ...LIMITED, ...AGAIN } },
  'gpt2 in bf16': { model: 'gpt2', options: TOGETHER },
  'gpt2 in fp16': { model: 'gpt2', options: FP16 },
  'experts in bf16': { model: 'experts', options: TOGETHER },
  'experts in fp16': { model: 'experts', options: FP16 },
  integers: { model: 'integers', options: { ...SIGNS, ...AGAIN } },
  // They have no loss scale, which would need time to grow.
  'few integers': { model: 'integers', steps: 4, options: { ...SIGNS, ...AGAIN } },
  'integers in bf16': { model: 'integers', steps: 4, options: { ...SIGNS, ...AGAIN, ...BF16 } },
  'integers in fp16': { model: 'integers', options: { ...SIGNS, ...AGAIN, ...FP16_GROWING } },
  'integers that overflow': {
    model: 'integers',
    options: { ...SIGNS, ...AGAIN, ...OVERFLOWING },
    save: 'one process',
  },
} satisfies Record<string, Case>;
type Name = keyof typeof SAME;

const comparison = new MeshComparison<Name>(SAME);

const { on, casesOf } = casesOn(comparison);

const ALONE = ['data', 'fsdp', 'context', 'tensor', 'pipeline'];
const ON_TWO: Cases<Name> = {
  ...casesOf('llama', ['fsdp', 'tensor']),
  ...casesOf('experts', ['expert']),
  ...casesOf('gpt2 in bf16', ['context', 'tensor', 'pipeline']),
  ...casesOf('gpt2 in fp16', ['fsdp', 'tensor']),
  ...casesOf('experts in bf16', ['expert']),
  ...casesOf('integers in fp16', ['fsdp', 'tensor', 'pipeline']),
  ...casesOf('integers that overflow', ['tensor', 'pipeline']),
  ...onlyInRelease({
    ...casesOf('experts in fp16', ['expert']),
    ...casesOf('gpt2 in bf16', ['data', 'fsdp']),
    ...casesOf('integers in fp16', ['data', 'context']),
  }),
};
const PAIRS = ALONE.flatMap((first, i) => ALONE.slice(i + 1).map((second) => `${first} × ${second}`));
const ON_FOUR: Cases<Name> = {
  ...casesOf('gpt2 in bf16', ['data × fsdp']),
  ...casesOf('experts in bf16', ['data × expert', 'tensor × expert', 'pipeline × expert']),
  ...onlyInRelease(casesOf('experts in bf16', ['fsdp × expert', 'context × expert'])),
  ...casesOf('integers in bf16', PAIRS),
  'integers that overflow on tensor × pipeline': {
    ...on('integers that overflow', 'tensor', 'pipeline'),
    save: 'tensor × pipeline',
  },
};
const CASES: Cases<Name> = { ...ON_TWO, ...ON_FOUR };

/** The name says where it was saved and goes on. */
const RESUMED: Cases<Name> = {
  'one process on tensor': { ...on('integers that overflow', 'tensor'), load: 'one process' },
  'one process on pipeline': { ...on('integers that overflow', 'pipeline'), load: 'one process' },
};

let found: Record<string, Trained[]>;

beforeAll(async () => {
  await comparison.trainAlone();
  const onTwo = await comparison.trainOn(2, { ...ON_TWO, ...RESUMED });
  const onFour = await comparison.trainOn(4, ON_FOUR);
  found = { ...onTwo, ...onFour };
}, 900_000);

describe('clipping, accumulation, activation checkpoints and precision together', () => {
  it.each(Object.keys(CASES))('%s: ranks train as one', (name) => {
    comparison.expectTrainedAsOne(CASES[name]!, found[name]!);
  });
});

it.each(['integers in bf16', 'integers in fp16'] as const)('16 bits hold the numbers of %s', (name) => {
  const { losses, weights } = comparison.alone[name];
  const expected = comparison.alone[name === 'integers in bf16' ? 'few integers' : 'integers'];
  expect({ losses, weights }).toEqual({ losses: expected.losses, weights: expected.weights });
});

it.each(['tensor', 'pipeline', 'tensor × pipeline'])('ranks of %s skip steps together', (mesh) => {
  const { skipped } = comparison.alone['integers that overflow'];
  expect(skipped.length).toBeGreaterThan(4);
  for (const each of found[`integers that overflow on ${mesh}`]!) expect(each.skipped).toEqual(skipped);
});

describe('a checkpoint has the loss scale', () => {
  it.each(Object.keys(RESUMED))('of %s: the second half of the steps is that of the first run', (name) => {
    comparison.expectSecondHalf(RESUMED[name]!, found[name]!);
  });

  it('of tensor × pipeline: training goes on in one process', async () => {
    await comparison.expectResumedAlone('tensor × pipeline', 'integers that overflow');
  });
});
