import { expect, it } from 'vitest';
import type { Ring } from './ring.js';
import { Round } from './round.js';

/** The pairs of queries and keys for which each rank computes weights, of shards of `length`. */
function pairsOf(size: number, length: number, isBalanced: boolean): number[] {
  return Array.from({ length: size }, (_, rank) => {
    const shards = { ranks: { rank, size } };
    const round = new Round({ settings: { isCausal: true }, shards, isBalanced } as Ring);
    let pairs = (length * (length + 1)) / 2;
    for (let step = 1; step < round.steps; step++) {
      const { fromQuery, keys } = round.partIn(step, length) ?? { fromQuery: 0, keys: length };
      pairs += (length - fromQuery) * keys;
    }
    return pairs;
  });
}

const total = (numbers: readonly number[]) => numbers.reduce((sum, each) => sum + each, 0);

it.each([2, 3, 4, 7])('balanced ranks have equal work in causal attention: %i', (size) => {
  const pairs = pairsOf(size, 6, true);
  expect(new Set(pairs).size).toBe(1);
  expect(total(pairs)).toBe((6 * size * (6 * size + 1)) / 2);
  expect(total(pairsOf(size, 5, true))).toBe((5 * size * (5 * size + 1)) / 2);
  const unbalanced = pairsOf(size, 6, false);
  expect(total(unbalanced)).toBe(total(pairs));
  expect(unbalanced.at(-1)).toBe(Math.max(...unbalanced));
  expect(unbalanced[0]).toBeLessThan(pairs[0]!);
});
