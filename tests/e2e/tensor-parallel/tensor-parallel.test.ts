import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectClose, resultsOfRanks } from '@acc/testkit';
import { onRanks } from '../on-ranks.js';
import { SEQUENCE } from './plans.js';
import type { Case, Trained } from './ranks/models.js';
import type { Result } from './ranks/plain.js';

const folder = mkdtempSync(join(tmpdir(), 'acc-tensor-'));
afterAll(() => rmSync(folder, { recursive: true }));

const TWO = { tensor: 2 };
const AUTO = { model: 'gpt2', plan: 'auto' } as const;
const CLIPPED = { gradientClipping: { norm: 0.5 }, gradientAccumulationSteps: 2 } as const;
const SHORT = { steps: 6 };
/** 10 windows of two micro-batches. */
const WINDOWS = { steps: 20 };

/** On two ranks. The names of those that equal a case of one process end in its name. */
const CASES = {
  mlp: { model: 'mlp', plan: { in: 'column', mid: 'row', out: 'vocab' } },
  gpt2: { ...AUTO, save: join(folder, 'two') },
  'one more block': { ...AUTO, ...SHORT, layers: 3 },
  llama: { model: 'llama', plan: 'auto' },
  'by sequence, gpt2': { model: 'gpt2', plan: SEQUENCE },
  clipped: { ...AUTO, ...WINDOWS, options: CLIPPED },
  'by sequence, clipped': { model: 'gpt2', plan: SEQUENCE, ...WINDOWS, options: CLIPPED },
  checkpointed: { ...AUTO, options: { checkpointEvery: 1 } },
  bf16: { ...AUTO, options: { mixedPrecision: 'bf16' } },
  'by sequence, bf16': { model: 'gpt2', plan: SEQUENCE, options: { mixedPrecision: 'bf16' } },
  dropout: { model: 'gpt2', plan: SEQUENCE, ...SHORT, dropout: 0.2 },
  'dropout, checkpointed': {
    model: 'gpt2',
    plan: SEQUENCE,
    ...SHORT,
    dropout: 0.2,
    options: { checkpointEvery: 1 },
  },
} satisfies Record<string, Case>;
type Name = keyof typeof CASES;

const ALONE = {
  mlp: CASES.mlp,
  gpt2: { ...AUTO, save: join(folder, 'one') },
  llama: CASES.llama,
  clipped: CASES.clipped,
  bf16: CASES.bf16,
  dropout: CASES.dropout,
  resumed: { ...AUTO, steps: 3, load: join(folder, 'one') },
  'resumed from two': { ...AUTO, steps: 3, load: join(folder, 'two') },
} satisfies Record<string, Case>;

async function train<N extends string>(
  ranks: number,
  mesh: Case['mesh'],
  cases: Readonly<Record<N, Case>>,
): Promise<Record<N, Trained[]>> {
  const names = Object.keys(cases) as N[];
  const list = names.map((name): Case => ({ ...cases[name], ...(mesh && { mesh }) }));
  const module = new URL('./ranks/models.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  const found = await onRanks<Trained[]>({ module, ranks, args: list, env });
  return Object.fromEntries(names.map((name, i) => [name, found.map((each) => each[i]!)])) as never;
}

let alone: Record<keyof typeof ALONE, Trained[]>;
let two: Record<Name, Trained[]>;

beforeAll(async () => {
  two = await train<Name>(2, TWO, CASES);
  alone = await train<keyof typeof ALONE>(1, undefined, ALONE);
}, 340_000);

function expectSame(found: readonly Trained[], expected: Trained, rtol = 1e-4): void {
  for (const { losses, weights, dict, left } of found) {
    expectClose(losses, expected.losses, { rtol });
    expectClose(weights, expected.weights, { rtol, atol: 10 * rtol * rtol + rtol / 10 });
    expect(dict).toEqual(weights);
    expect(left).toBeLessThanOrEqual(1);
  }
}

describe('on two ranks', () => {
  it.each(['mlp', 'gpt2', 'llama', 'clipped'] as const)('%s trains as in one process', (name) => {
    expectSame(two[name], alone[name][0]!);
  });

  it.each([
    ['by sequence, gpt2', 'gpt2'],
    ['by sequence, clipped', 'clipped'],
  ] as const)('%s trains as in one process', (name, same) => expectSame(two[name], alone[same][0]!));

  it('activation checkpoints give the same numbers', () => {
    expectSame(two.checkpointed, alone.gpt2[0]!);
  });

  it.each(['bf16', 'by sequence, bf16'] as const)('%s trains as in one process in 16 bits', (name) => {
    expectSame(two[name], alone.bf16[0]!, 1e-2);
  });

  it('dropout draws as in one process, and again when activations are computed again', () => {
    const [expected] = alone.dropout;
    expectSame(two.dropout, expected!);
    for (const { losses } of two['dropout, checkpointed'])
      expectClose(losses, expected!.losses, { rtol: 1e-4 });
    expect(expected!.losses[0]).not.toBeCloseTo(alone.gpt2[0]!.losses[0]!, 2);
  });

  it('a transformer block adds up twice forward and twice backward', () => {
    const calls = (name: Name, part: 'sent' | 'sentForward') => two[name][0]![part]['tensor']!.calls;
    // Besides: the embedding, the gradient of the logits' input, and three numbers a token for the loss.
    expect(calls('gpt2', 'sent')).toBe(2 * 4 + 2 + 3);
    expect(calls('gpt2', 'sentForward')).toBe(2 * 2 + 1);
    expect(calls('one more block', 'sent') - calls('gpt2', 'sent')).toBe(2 + 2);
    expect(calls('one more block', 'sentForward') - calls('gpt2', 'sentForward')).toBe(2);
  });

  it('the same bytes travel along the sequence, besides gradients of norms and biases', () => {
    const bytes = (name: Name) => two[name][0]!.sent['tensor']!.bytes;
    const width = 24;
    const ofBlock = 2 * 2 * width + 2 * width;
    expect(bytes('by sequence, gpt2') - bytes('gpt2')).toBe(4 * (2 * ofBlock + 2 * width));
  });

  it('half of the bytes travel in 16 bits', () => {
    const bytes = (name: Name) => two[name][0]!.sent['tensor']!.bytes;
    expect(bytes('bf16')).toBeLessThan(0.85 * bytes('gpt2'));
  });

  it('needs less memory', () => {
    const peak = Math.max(...two.gpt2.map(({ peakBytes }) => peakBytes));
    expect(peak).toBeLessThan(0.75 * alone.gpt2[0]!.peakBytes);
  });
});

describe('other sizes', () => {
  it('resumes a checkpoint of two ranks in one process, and on three', async () => {
    const cases = {
      one: { ...AUTO, steps: 3, load: join(folder, 'one') },
      two: { ...AUTO, steps: 3, load: join(folder, 'two') },
    } as const;
    const three = await train<'one' | 'two'>(3, { tensor: 3 }, cases);
    expectSame(alone['resumed from two'], alone.resumed[0]!);
    expectSame(three.one, alone.resumed[0]!);
    expectSame(three.two, alone.resumed[0]!);
  });

  it('computes a sequence whole that the ranks do not divide', async () => {
    const uneven = { model: 'gpt2', plan: SEQUENCE, ...SHORT } as const;
    const three = await train<'uneven'>(3, { tensor: 3 }, { uneven });
    const { losses } = alone.gpt2[0]!;
    for (const found of three.uneven) expectClose(found.losses, losses.slice(0, 6), { rtol: 1e-4 });
  });
});

describe('a plain program with cut variables', () => {
  let plain: Result[];
  let one: Result;
  beforeAll(async () => {
    const script = new URL('./ranks/plain.ts', import.meta.url);
    const env = { OMP_NUM_THREADS: '1' };
    const run = (ranks: number) => resultsOfRanks<Result>({ script, ranks, args: [String(ranks)], env });
    [one] = (await run(1)) as [Result];
    plain = await run(2);
  });

  it('trains as in one process', () => {
    for (const { losses, weights } of plain) {
      expectClose(losses, one.losses, { rtol: 1e-4 });
      expectClose(weights, one.weights, { rtol: 1e-4, atol: 1e-6 });
    }
  });

  it('adds up once', () => {
    for (const { sent } of plain) expect(sent['tensor']!.calls).toBe(1);
  });

  it('masks of pieces together are the mask of one process', () => {
    const half = (place: number) => one.mask.filter((_, i) => Math.floor((i % 12) / 6) === place);
    expect(half(0)).not.toEqual(half(1));
    for (const { mask } of plain) expect(mask).toEqual(one.mask);
  });

  it('a clone keeps its values, and an assigned variable has the new ones', () => {
    for (const { clones } of plain) {
      expect(clones.kept).toEqual(clones.before);
      expect(clones.after).not.toEqual(clones.before);
      expect(clones.assigned).toEqual(clones.expected);
    }
  });

  it('tfjs lists cut variables, also where others of their names were disposed', () => {
    for (const { listed } of plain) expect(listed).toEqual([true, true]);
  });

  it.each([
    ['a kernel without a rule', 'ACC_TENSOR_PARALLEL_KERNEL'],
    ['two layers by columns', 'ACC_TENSOR_PARALLEL_KERNEL'],
    ['rows that a cut table does not have', 'ACC_INDEX_OUT_OF_RANGE'],
    ['a size that does not divide', 'ACC_TENSOR_PARALLEL_UNEVEN'],
    ['heads that do not divide', 'ACC_TENSOR_PARALLEL_UNEVEN'],
    ['an optimizer that needs rows and columns', 'ACC_STRATEGY_CANNOT'],
    ['plans that differ', 'ACC_OPTIONS_DIFFER'],
    ['an axis that cuts nothing', 'ACC_TENSOR_PARALLEL_PLAN'],
    ['the backend cpu', 'ACC_TENSOR_PARALLEL_BACKEND'],
  ])('refuses %s', (what, code) => {
    for (const { codes } of plain) expect(codes[what]).toBe(code);
  });

  it('names the kernel and its inputs', () => {
    for (const { messages } of plain)
      expect(messages[0]).toMatch(/'ArgMin'.*\n {2}x: \[12,12\], cut along dim 1/);
  });

  it('names the layer whose weight a kernel takes, and what to change in the plan', () => {
    for (const { messages } of plain) {
      expect(messages[2]).toMatch(/^Layer 'wider': the kernel '_FusedMatMul' needs all shards of one factor/);
      expect(messages[2]).toMatch(/\n {2}b: 'wider\/kernel' \[.*6,6\], cut along dim \d\n/);
      expect(messages[2]).toContain("give 'wider' the style 'row'");
    }
  });

  it('names the range of a whole table', () => {
    for (const { messages } of plain)
      expect(messages[1]).toMatch(/^GatherV2: the index value 12 is not in \[0, 11\]/);
  });

  it('lamb has the norms of whole weights', () => {
    for (const { lamb } of plain) expectClose(lamb, one.lamb, { rtol: 1e-4, atol: 1e-6 });
  });
});

it('refuses different batches of ranks of one line, and warns without the axis', async () => {
  const script = new URL('./ranks/other-batches.ts', import.meta.url);
  const found = await resultsOfRanks<unknown>({ script, ranks: 2, env: { OMP_NUM_THREADS: '1' } });
  const expected = {
    rows: 'ACC_BATCHES_DIFFER shapes',
    values: 'ACC_BATCHES_DIFFER values',
    labels: 'ACC_BATCHES_DIFFER losses',
    'the same': 'none',
    'the same again': 'none',
    'with a size of 1': 0,
  };
  expect(found).toEqual([
    { ...expected, 'without the axis': 1 },
    { ...expected, 'without the axis': 0 },
  ]);
});
