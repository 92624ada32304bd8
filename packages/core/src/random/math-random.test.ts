import { afterEach, expect, it } from 'vitest';
import { seedOfShard, setSeed, uninstallRandom } from './math-random.js';

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

it.each([0, 7, Number.MAX_SAFE_INTEGER - 1, Number.MAX_SAFE_INTEGER])(
  'each piece of a sequence gets a seed of its own from %d',
  (seed) => {
    const seeds = [0, 1, 2, 3].map((index) => seedOfShard(seed, index));
    expect(seeds[0]).toBe(seed);
    expect(new Set(seeds).size).toBe(4);
    expect(seeds.every((each) => Number.isSafeInteger(each) && each >= 0)).toBe(true);
  },
);
