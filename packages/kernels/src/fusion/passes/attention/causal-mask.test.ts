import { expect, it } from 'vitest';
import { isCausalMask } from './causal-mask.js';

it.each<[readonly number[], number, number, boolean]>([
  [[0, -1e9, 0, 0], 2, 2, true],
  [[-0, -Infinity, 0, 0], 2, 2, true],
  [[0, -1e4, 0, 0], 2, 2, false],
  [[0, NaN, 0, 0], 2, 2, false],
  [[0, -1e9, 1, 0], 2, 2, false],
  [[0, 0, -1e9, 0], 2, 2, false],
  [[0, -1e9], 1, 2, false],
  [[0, -1e9, 0, 0, 0, -1e9, 0, 0], 2, 2, false],
])('%j of %i queries and %i keys: %s', (mask, queries, keys, expected) => {
  expect(isCausalMask(Float32Array.from(mask), queries, keys)).toBe(expected);
});
