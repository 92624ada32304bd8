import { beforeAll, expect, it } from 'vitest';
import { expectClose } from '@acc/testkit';
import { onRanks } from './on-ranks.js';

interface Result {
  seen: number[];
  shards: { wrong: string[]; gathered: number[][] };
  afterJoin: number[][];
  observed: number[];
  expected: number[];
  weights: number[][];
  reference: number[][];
  state: unknown[][];
  batches: number;
  weight: number;
  tensors: number;
}

const HOOKS = ['bf16', 'powerSgd', 'topK', 'oneBit'];

/** By number of ranks, with one launch each: the steps of each rank, and the communication hook. */
const RUNS = {
  2: ['2,5:none', '4,4:none', ...HOOKS.map((hook) => `5,2:${hook}`)],
  3: ['3,0,4:none', '3,0,4:shards', '1,1,1:none'],
};

/** The results of each rank, by run. */
const reported: Record<string, Result[]> = {};

beforeAll(async () => {
  const module = new URL('./ranks/join.ts', import.meta.url);
  const env = { OMP_NUM_THREADS: '1' };
  for (const [size, args] of Object.entries(RUNS)) {
    const ranks = await onRanks<Record<string, Result>>({ module, ranks: Number(size), args, env });
    for (const run of args) reported[run] = ranks.map((result) => result[run]!);
  }
});

function resultsOf(lengths: readonly number[], hook: string): Result[] {
  const results = reported[`${lengths.join()}:${hook}`]!;
  expect(results).toHaveLength(lengths.length);
  return results;
}

it.each([[[2, 5]], [[3, 0, 4]], [[4, 4]]])('ranks with %j steps train like one process', (lengths) => {
  const ranks = resultsOf(lengths, 'none');
  const size = lengths.length;
  for (const [rank, result] of ranks.entries()) {
    expect(result.weights).toEqual(ranks[0]!.weights);
    expect(result.afterJoin).toEqual(ranks[0]!.afterJoin);
    expect(result.state).toEqual(ranks[0]!.state);
    expect(result.observed).toEqual(result.expected);
    expect(result.tensors).toBe(ranks[0]!.tensors);
    result.weights.forEach((values, i) =>
      expectClose(values, result.reference[i]!, { rtol: 1e-5, atol: 2e-6 }),
    );
    // A gather returns the tensors of the ranks that still call it.
    const active = (step: number) => lengths.filter((length) => step < length).length;
    const together = Array.from({ length: lengths[rank]! }, (_, step) => active(step));
    expect(result.seen).toEqual([...together, size, size]);
  }
});

it('collectives with shards work among the ranks that still have data', () => {
  const lengths = [3, 0, 4];
  for (const [rank, { shards, weights, reference }] of resultsOf(lengths, 'shards').entries()) {
    expect(shards.wrong).toEqual([]);
    // There is one bucket per step. Each gather returns the remaining ranks. Later gathers belong
    // to later trainings.
    const together = Array.from({ length: lengths[rank]! }, (_, step) =>
      [0, 1, 2].filter((one) => step < lengths[one]!),
    );
    const all = [0, 1, 2];
    expect(shards.gathered.slice(0, lengths[rank]! + 2)).toEqual([...together, all, all]);
    weights.forEach((values, i) => expectClose(values, reference[i]!, { rtol: 1e-5, atol: 2e-6 }));
  }
});

it('prepared data may end at different steps', () => {
  const ranks = resultsOf([1, 1, 1], 'none');
  expect(ranks.map(({ batches }) => batches)).toEqual([2, 2, 1]);
  // The steps have samples 0 to 5, then 6 to 9.
  for (const { weight } of ranks) expectClose(weight, 1 - 0.1 * 2.5 - 0.1 * 7.5, { atol: 1e-6 });
});

it.each(HOOKS)('with %s ranks stay in agreement', (hook) => {
  const [first, second] = resultsOf([5, 2], hook);
  expect(second!.afterJoin).toEqual(first!.afterJoin);
  expect(second!.weights).toEqual(first!.weights);
  expect(second!.state).toEqual(first!.state);
  expect(first!.weights.flat().every(Number.isFinite)).toBe(true);
});
