import { describe, expect, it } from 'vitest';
import { fingerprintOf, requireSameBatch, requireSameLoss } from './same-batch.js';

const where = { call: 'pipelined', axis: 'pipeline' };
const form = (length: number) => ({ dtype: 'float32', shape: [length] });

/** Compares the values of ranks, which travel as JSON. */
function compare(...ranks: readonly (readonly number[])[]): void {
  const prints = ranks.map((values) => [fingerprintOf(form(values.length), values)]);
  requireSameBatch(where, prints[0]!, {
    worldRanks: ranks.map((_, i) => 2 * i),
    allGatherObject: <T>() => JSON.parse(JSON.stringify(prints)) as T[],
  });
}

const noise = (seed: number, length = 1e5) =>
  Array.from({ length }, (_, i) => Math.abs(Math.sin((i + 1) * seed)) + 0.5);

describe('requireSameBatch', () => {
  it.each([
    ['equal values', [1, 2, 3], [1, 2, 3]],
    [
      'values that were rounded in another way',
      noise(3),
      noise(3).map((value) => Math.fround(value * (1 + 1e-6))),
    ],
    ['zeros', [0, 0], [0, 0]],
    ['nothing', [], []],
    ['values that are not finite', [NaN, 1], [NaN, 1]],
  ])('accepts %s', (_, one, other) => expect(() => compare(one, other)).not.toThrow());

  it.each([
    ['other rows of one distribution', noise(3), noise(5)],
    ['a permutation', [1, 2, 3, 4], [4, 3, 2, 1]],
    ['labels at other places', [1, 0, 0, 0, 0, 1], [0, 1, 0, 0, 1, 0]],
    ['constants', [1, 1, 1], [2, 2, 2]],
    ['signs', [1, 1], [-1, -1]],
    ['zeros', [0, 0], [0, 1]],
    ['a value that is not finite', [1, 2], [1, NaN]],
  ])('refuses %s', (_, one, other) => {
    expect(() => compare(one, one, other)).toThrowError(
      expect.objectContaining({
        code: 'ACC_BATCHES_DIFFER',
        details: { axis: 'pipeline', what: 'values' },
        message: expect.stringMatching(/tensor 1 of 1, float32[^]*rank 0: sum[^]*rank 4: sum/) as unknown,
        help: expect.stringContaining('the same batch') as unknown,
      }),
    );
  });

  it('names the shapes of each rank', () => {
    expect(() => compare([1, 2], [1, 2, 3])).toThrowError(/rank 0: float32\[2\]\n\s+rank 2: float32\[3\]/);
  });
});

describe('requireSameLoss', () => {
  const compareLosses = (...losses: number[]) =>
    requireSameLoss({ call: 'tensor parallel', axis: 'tensor' }, losses[0]!, {
      worldRanks: losses.map((_, i) => 2 * i),
      allGatherObject: <T>() => losses.map(String) as T[],
    });

  it.each([
    [2.5, 2.5 * (1 + 1e-6)],
    [0, 1e-12],
    [NaN, NaN],
    [Infinity, Infinity],
  ])('accepts %d and %d', (one, other) => expect(() => compareLosses(one, one, other)).not.toThrow());

  it.each([
    [2.5, 2.6],
    [0, 1e-6],
    [1, NaN],
    [NaN, 1],
    [1, Infinity],
  ])('refuses %d and %d', (one, other) => {
    expect(() => compareLosses(one, one, other)).toThrowError(
      expect.objectContaining({
        code: 'ACC_BATCHES_DIFFER',
        details: { axis: 'tensor', what: 'losses' },
        message: expect.stringContaining(`rank 4: ${other}`) as unknown,
      }),
    );
  });
});
