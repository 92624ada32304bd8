import { expect, it } from 'vitest';
import { checkJobs } from './check-jobs.js';
import { inWaves } from './run-within.js';

const namesOf = (...changed: string[]) =>
  checkJobs(changed, (path) => path !== 'gone.ts').map(({ name }) => name);

it('a change is linted, formatted and type-checked as its files need', () => {
  expect(namesOf('packages/a/src/a.ts')).toEqual(['eslint', 'oxlint', 'prettier', 'types of tests', 'types']);
  expect(namesOf('scripts/a.mjs')).toEqual(['eslint', 'oxlint', 'prettier']);
  expect(namesOf('README.md')).toEqual(['prettier']);
  expect(namesOf('gone.ts')).toEqual(['types of tests', 'types']);
  expect(namesOf()).toEqual([]);
});

it('tests are divided into waves in their order', () => {
  const seconds: Record<string, number> = { a: 4, b: 7, c: 1, d: 20, e: 1 };
  const waves = inWaves(['a', 'b', 'c', 'd', 'e'], (test) => seconds[test]!, 10);
  expect(waves).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
  expect(inWaves([], () => 1, 10)).toEqual([]);
});
