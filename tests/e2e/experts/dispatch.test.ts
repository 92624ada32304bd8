import { expect, it } from 'vitest';
import { onRanks } from '../on-ranks.js';
import type { Dispatch } from './ranks/traffic.js';

const env = { OMP_NUM_THREADS: '1' };
const [TOP_K, WIDTH] = [2, 10];
const [FLOAT_BYTES, INT_BYTES] = [4, 4];
const sum = (numbers: readonly number[]) => numbers.reduce((total, each) => total + each, 0);

it.each([2, 3])('%i ranks send tokens × width × 4 bytes, both ways, forward and backward', async (ranks) => {
  const module = new URL('./ranks/traffic.ts', import.meta.url);
  const found = await onRanks<Dispatch>({ module, ranks, env });
  /** The rows that rank `from` has for the experts of each rank. */
  const rowsFor = found.map(({ tokensPerExpert }) => {
    const each = tokensPerExpert.length / ranks;
    return found.map((_, to) => sum(tokensPerExpert.slice(to * each, (to + 1) * each)));
  });
  // Padded to the largest, all of these would be equal.
  expect(new Set(rowsFor.flat()).size).toBeGreaterThan(1);
  found.forEach(({ tokensPerExpert, toExperts, back, backward }, rank) => {
    const bytesOf = (rows: number[]) => sum(rows.filter((_, other) => other !== rank)) * WIDTH * FLOAT_BYTES;
    const sent = rowsFor[rank]!;
    const received = rowsFor.map((ofRank) => ofRank[rank]!);
    expect(sum(sent)).toBe((7 + 4 * rank) * TOP_K);
    // Ranks tell each other one number for each expert.
    const counts = tokensPerExpert.length * INT_BYTES * (1 - 1 / ranks);
    expect(toExperts).toBe(counts + bytesOf(sent));
    expect(back).toBe(bytesOf(received));
    // The gradients of the outputs go to the experts, and those of the tokens back.
    expect(backward).toBe(bytesOf(sent) + bytesOf(received));
  });
});

it.each([
  ['tensor', { tensor: 2 }, true],
  ['data', { data: 2 }, false],
  ['expert', { expert: 2 }, false],
  ['context', { context: 2 }, false],
] as const)(
  'the jitter of the ranks of the axis %s: the same if they have the same rows',
  async (_, mesh, same) => {
    const module = new URL('./ranks/jitter.ts', import.meta.url);
    const [first, second] = await onRanks<number[][]>({ module, ranks: 2, args: mesh, env });
    expect(first).toHaveLength(2);
    const [one, two] = first!;
    expect(one).not.toEqual(two);
    for (const factors of [...first!, ...second!]) {
      expect(new Set(factors).size).toBeGreaterThan(0.9 * 2 * 4 * 6);
      expect(Math.min(...factors)).toBeGreaterThanOrEqual(0.75);
      expect(Math.max(...factors)).toBeLessThanOrEqual(1.25);
    }
    if (same) expect(second).toEqual(first);
    else second!.forEach((factors, step) => expect(factors).not.toEqual(first![step]));
  },
);
