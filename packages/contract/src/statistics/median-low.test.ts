import { expect, it } from 'vitest';
import { medianLow } from './median-low.js';

it.each([
  [[3], 3],
  [[10, 9], 9],
  [[100, 20, 3], 20],
  [[4, 1, 3, 2], 2],
  [[], NaN],
])('of %j is %d', (values, expected) => {
  expect(medianLow(values)).toBe(expected);
});
