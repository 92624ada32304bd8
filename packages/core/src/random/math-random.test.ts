import { afterEach, expect, it } from 'vitest';
import { setSeed, uninstallRandom } from './math-random.js';

afterEach(() => uninstallRandom());

it.each([0, 42, Number.MAX_SAFE_INTEGER])('the seed %d determines what Math.random draws', (seed) => {
  const draws = () => [Math.random(), Math.random()];
  setSeed(seed);
  const first = draws();
  setSeed(seed);
  expect(draws()).toEqual(first);
});

it.each(['x', 1.5, -1, NaN, 2 ** 53, undefined, null])('refuses the seed %s', (seed) => {
  const { random } = Math;
  expect(() => setSeed(seed as never)).toThrowError(
    expect.objectContaining({ code: 'ACC_INVALID_ARGUMENT' }),
  );
  expect(Math.random).toBe(random);
});
