import { expect, it } from 'vitest';
import { areExplainedBySizes } from './explained-by-sizes.js';

/** Rows, tokens and channels of two calls. */
const FIRST = [32, 10, 64];
const SECOND = [20, 12, 64];

it.each<[string, number, number]>([
  ['a size', 32, 20],
  ['a product of sizes', 320, 240],
  ['a product with a constant', 320 * 64 * 3, 240 * 64 * 3],
  ['a product of a size and its neighbour', 32 * 9, 20 * 11],
  ['a square', 100, 144],
  ['a fraction of a size', 8, 5],
  ['a reciprocal of a product', 1 / 320, 1 / 240],
  ['a reciprocal in float32', Math.fround(1 / 10), Math.fround(1 / 12)],
  ['a constant over a size', 7 / 32, 7 / 20],
  ['a size and a constant', 13, 15],
  ['a constant without a size', 100 - 32, 100 - 20],
  ['a negative size', -32, -20],
])('%s is explained', (_, first, second) => {
  expect(areExplainedBySizes([first, second], FIRST, SECOND)).toBe(true);
});

it.each<[string, number, number]>([
  ['a counter', 101, 108],
  ['a random number', 0.234, 0.567],
  ['a remainder', 32 % 9, 20 % 9],
  ['what is more than a number', NaN, 240],
  ['a number beside zero', 0, 20],
  ['another sign', 32, -20],
])('%s is not explained', (_, first, second) => {
  expect(areExplainedBySizes([first, second], FIRST, SECOND)).toBe(false);
});

it('all numbers must be explained', () => {
  expect(areExplainedBySizes([], FIRST, SECOND)).toBe(true);
  expect(areExplainedBySizes([32, 20, 10, 12], FIRST, SECOND)).toBe(true);
  expect(areExplainedBySizes([32, 20, 5, 18], FIRST, SECOND)).toBe(false);
});

it('equal sizes explain nothing', () => {
  expect(areExplainedBySizes([1, 2], [4, 4], [4, 4])).toBe(false);
});
