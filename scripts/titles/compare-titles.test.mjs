import { expect, it } from 'vitest';
import { compareTitles, countTitles } from './compare-titles.mjs';

it('titles are counted by file, whatever the projects of a file', () => {
  const tests = [
    { title: 'b > c', file: 'one' },
    { title: 'b > c', file: 'one' },
    { title: 'b > c', file: 'two' },
    { title: 'a', file: 'two' },
  ];
  expect(Object.entries(countTitles(tests))).toEqual([
    ['a', 1],
    ['b > c', 2],
  ]);
});

it('titles that are in fewer files are missing, unless their replacement is named', () => {
  const before = { same: 1, twice: 2, renamed: 1, dropped: 1, lost: 1, misnamed: 1 };
  const now = { same: 1, twice: 1, 'of another name': 1, added: 1 };
  const replaced = {
    renamed: { by: 'of another name' },
    dropped: { reason: 'The feature is gone.' },
    misnamed: { by: 'nobody' },
    same: { by: 'added' },
  };
  expect(compareTitles(before, now, replaced)).toEqual({
    missing: ['twice', 'lost'],
    new: ['of another name', 'added'],
    replaced: ['renamed', 'dropped', 'misnamed'],
    wrong: ['misnamed', 'same'],
  });
});
