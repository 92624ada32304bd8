import { expect, it } from 'vitest';
import { matchNames } from './match-names.js';

const stored = [
  { name: 'a', shape: [2] },
  { name: 'b', shape: [3, 4] },
  { name: 'c', shape: [2] },
];
const ranks = (...lists: (typeof stored)[]) => lists.map((wholes, rank) => ({ rank, wholes }));

it('names are matched in any order, over ranks that hold different weights', () => {
  const [a, b, c] = stored;
  const storedName = matchNames(stored, ranks([c!, a!], [b!, a!]));
  expect(['a', 'b', 'c'].map(storedName)).toEqual(['a', 'b', 'c']);
});

it('different names with the same shapes are matched by position, in the order of ranks', () => {
  const [x, y, z] = stored.map(({ name, shape }) => ({ name: `${name}_1`, shape }));
  const storedName = matchNames(stored, ranks([x!, y!], [x!, z!]));
  expect(['a_1', 'b_1', 'c_1'].map(storedName)).toEqual(['a', 'b', 'c']);
});

it('one error names missing weights, additional weights and different shapes on all ranks', () => {
  const held = ranks(
    [
      { name: 'a', shape: [2] },
      { name: 'x', shape: [3, 4] },
    ],
    [
      { name: 'x', shape: [3, 4] },
      { name: 'c', shape: [5] },
    ],
  );
  const error = expect.objectContaining({
    code: 'ACC_CHECKPOINT_MISMATCH',
    details: {
      missing: [{ name: 'x', ranks: [0, 1] }],
      surplus: ['b'],
      misshapen: [{ name: 'c', stored: [2], here: [5], ranks: [1] }],
    },
  }) as Error;
  expect(() => matchNames(stored, held)).toThrowError(error);
  expect(() => matchNames(stored, held)).toThrowError("'x' (needed by ranks 0, 1)");
});

it('ranks with different shapes for one name are a mismatch', () => {
  const held = ranks(stored, [{ name: 'a', shape: [1, 2] }]);
  expect(() => matchNames(stored, held)).toThrowError(
    expect.objectContaining({
      details: expect.objectContaining({ missing: [], surplus: [] }) as object,
    }) as Error,
  );
});
