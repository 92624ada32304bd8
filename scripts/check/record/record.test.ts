import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  addObservation,
  emptyRecord,
  formatExecutions,
  formatNumbers,
  parseExecutions,
  parseNumbers,
  readRecord,
  tidyRecord,
  writeRecord,
  type ExecutionRecord,
} from './record.js';

const PATH = 'packages/a/src/a.ts';
const seen = (path: string, ...keys: string[]) => ({
  path,
  hash: '1',
  executed: new Map([[PATH, new Set(keys)]]),
  programs: new Set([`tests/ranks/${path}`]),
});
const testsOf = ({ executions, tests }: ExecutionRecord, key: string) =>
  [...(executions.get(PATH)?.get(key) ?? [])].map((number) => tests.get(number)!.path);

describe('sets of tests', () => {
  it('come back from their text', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.nat(2000)), (numbers) => {
        expect([...parseNumbers(formatNumbers(numbers))]).toEqual([...numbers].sort((a, b) => a - b));
      }),
    );
  });

  it('are ranges in base 36', () => {
    expect(formatNumbers([40, 1, 2, 3, 9])).toBe('1-3,9,14');
    expect(formatNumbers([])).toBe('-');
  });

  it('of functions come back from their text', () => {
    const functions = new Map([
      ['f.(given to map) 01', new Set([1, 2])],
      ['g 02', new Set<number>()],
    ]);
    const executions = new Map([[PATH, functions]]);
    expect(parseExecutions(formatExecutions(executions))).toEqual(executions);
  });
});

describe('a record', () => {
  it('comes back from its files', () => {
    const root = mkdtempSync(join(tmpdir(), 'acc-record-'));
    const record = emptyRecord();
    addObservation(record, seen('a.test.ts', 'f 1', 'g 1'));
    addObservation(record, seen('b.test.ts', 'g 1'));
    writeRecord(root, record);
    expect(readRecord(root)).toEqual(record);
    expect(readFileSync(join(root, 'tests/executed/packages/a.txt'), 'utf8')).toBe(
      `${PATH}\n  1 f 1\n  1-2 g 1\n`,
    );
  });

  it('of a test is replaced, and keeps its number', () => {
    const record = emptyRecord();
    addObservation(record, seen('a.test.ts', 'f 1', 'g 1'));
    addObservation(record, seen('b.test.ts', 'g 1'));
    addObservation(record, seen('a.test.ts', 'f 2'));
    expect(testsOf(record, 'f 1')).toEqual([]);
    expect(testsOf(record, 'f 2')).toEqual(['a.test.ts']);
    expect(testsOf(record, 'g 1')).toEqual(['b.test.ts']);
    expect(record.tests.size).toBe(2);
  });

  it('knows functions that nothing executed, and forgets tests and functions that are gone', () => {
    const record = emptyRecord();
    addObservation(record, seen('a.test.ts', 'f 1'));
    addObservation(record, seen('b.test.ts', 'g 1'));
    tidyRecord(
      record,
      () => ['g 2', 'h 1'],
      (path) => path === 'b.test.ts',
    );
    expect([...record.executions.get(PATH)!.keys()].sort()).toEqual(['g 1', 'g 2', 'h 1']);
    expect(testsOf(record, 'g 1')).toEqual(['b.test.ts']);
    expect([...record.tests.values()].map(({ path }) => path)).toEqual(['b.test.ts']);
    expect([...record.programs.keys()]).toEqual(['tests/ranks/b.test.ts']);
  });
});
