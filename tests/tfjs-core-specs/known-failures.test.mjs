import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { compare, knownPath, readKnown, updated, writeKnown } from './known-failures.mjs';

const names = ['a', 'b', 'b #2', 'c', 'd'];
const resultsOf = (statuses) =>
  new Map(Object.entries(statuses).map(([name, status]) => [name, { name, status, messages: [] }]));
const namesOf = (list) => list.map(({ name }) => name);

describe('compare', () => {
  it('distinguishes new failures from listed ones by exact name', () => {
    const results = resultsOf({ a: 'passed', b: 'failed', 'b #2': 'failed', c: 'pending', d: 'passed' });
    const verdict = compare(results, names, [{ name: 'b #2', reason: 'r' }]);
    expect(verdict).toMatchObject({
      passed: 2,
      pending: 1,
      expectedFailures: 1,
      stale: [],
      withoutReason: [],
    });
    expect(namesOf(verdict.newFailures)).toEqual(['b']);
  });

  it('refuses entries that pass, are pending or name no spec', () => {
    const known = ['a', 'c', 'gone'].map((name) => ({ name, reason: 'r' }));
    const verdict = compare(resultsOf({ a: 'passed', c: 'pending', d: 'passed' }), names, known);
    expect(namesOf(verdict.stale)).toEqual(['a', 'c', 'gone']);
    expect(verdict.passed).toBe(1);
  });

  it('ignores entries that a filter left out, and names entries without a reason', () => {
    const verdict = compare(resultsOf({ a: 'passed' }), names, [{ name: 'b', reason: 'TODO' }]);
    expect(verdict).toMatchObject({ stale: [], withoutReason: ['b'] });
  });
});

describe('updated', () => {
  it('keeps reasons and specs that did not run, and drops passed and removed ones, in the order of definition', () => {
    const known = ['gone', 'd', 'b', 'a'].map((name) => ({ name, reason: `why ${name}` }));
    const results = resultsOf({ a: 'passed', b: 'failed', c: 'failed' });
    expect(updated(results, names, known)).toEqual([
      { name: 'b', reason: 'why b' },
      { name: 'c', reason: 'TODO' },
      { name: 'd', reason: 'why d' },
    ]);
  });
});

describe('readKnown', () => {
  let folder;
  beforeEach(() => (folder = mkdtempSync(join(tmpdir(), 'known-'))));
  afterEach(() => rmSync(folder, { recursive: true }));

  it('reads what writeKnown wrote, and returns nothing if there is no file', () => {
    const path = join(folder, 'known.json');
    expect(readKnown(path)).toEqual([]);
    writeKnown(path, [{ name: 'a', reason: 'r' }]);
    expect(readKnown(path)).toEqual([{ name: 'a', reason: 'r' }]);
  });

  it.each([
    ['no array', {}],
    ['an entry without a reason', [{ name: 'a' }]],
    ['an empty reason', [{ name: 'a', reason: ' ' }]],
    ['an unknown key', [{ name: 'a', reason: 'r', skip: true }]],
    ['a name twice', ['r', 's'].map((reason) => ({ name: 'a', reason }))],
  ])('refuses %s', (_, content) => {
    const path = join(folder, 'known.json');
    writeFileSync(path, JSON.stringify(content));
    expect(() => readKnown(path)).toThrow(path);
  });
});

describe('knownPath', () => {
  it('has a list for each device', () => {
    expect(knownPath('acc', 'cpu')).toMatch(/known-failures\.acc\.json$/);
    expect(knownPath('acc', 'cuda')).toMatch(/known-failures\.acc-cuda\.json$/);
  });
});
