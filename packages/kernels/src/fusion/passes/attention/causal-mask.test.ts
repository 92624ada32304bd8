import { expect, it } from 'vitest';
import { isCausalMask, SEEN, UNSEEN, type Marks } from './causal-mask.js';

it.each<[readonly number[], readonly number[], boolean, Marks?, (readonly number[])?]>([
  [[0], [1, 1], true, undefined, [1, 1]],
  [[0], [1, 1], false, undefined, [2, 2]],
  [[0], [1, 1, 1], false, undefined, [3, 2, 2]],
  [[1], [1, 1], false, SEEN, [2, 2]],
  [[0, -1e9, 0, 0], [2, 2], false, undefined, [4, 2]],
  [[0, -1e9, 0, 0], [2, 2], true],
  [[-0, -Infinity, 0, 0], [2, 2], true],
  [[0, -1e4, 0, 0], [2, 2], false],
  [[0, NaN, 0, 0], [2, 2], false],
  [[0, -1e9, 1, 0], [2, 2], false],
  [[0, 0, -1e9, 0], [2, 2], false],
  [[0, -1e9], [1, 2], false],
  [[0, -1e9], [2], false],
  [[0], [], false],
  [[0, -1e9, 0, 0, 0, -1e9, 0, 0], [2, 1, 2, 2], true],
  [[0, -1e9, 0, 0, 0, 0, 0, 0], [2, 2, 2], false],
  [[0, -1e9, 0, 0], [2, 1, 2], false],
  [[1, 0, 1, 1], [2, 2], true, SEEN],
  [[0, 1, 0, 0], [2, 2], false, SEEN],
  [[0, 1, 0, 0], [2, 2], true, UNSEEN],
  [[1, 0.5, 1, 1], [2, 2], false, SEEN],
])('%j of shape %j: %s', (mask, shape, expected, marks, scores = [2, 2]) => {
  expect(isCausalMask(Float32Array.from(mask), shape, scores, marks)).toBe(expected);
});
