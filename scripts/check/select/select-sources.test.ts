import { describe, expect, it } from 'vitest';
import {
  addObservation,
  emptyRecord,
  IMPORTING_PATH,
  tidyRecord,
  type Observation,
} from '../record/record.js';
import { keyOf, unitsOf } from '../source/units.js';
import { Choice } from './choice.js';
import { RecordIndex } from './record-index.js';
import { selectTests, type Asked } from './select.js';
import { SourceSelection } from './select-sources.js';

const FIRST = 'packages/a/src/first.ts';
const SECOND = 'packages/a/src/second.ts';
const TEXTS: Record<string, string> = {
  [FIRST]: `
const SIZE = 4;
export const LIMITS = { most: SIZE };
export function half(x: number) { return x / 2; }
export function area() { return SIZE * SIZE; }
function killed() { return 1; }
export const made = make(() => 3);
function make(f) { return { value: f() }; }
`,
  [SECOND]: `
import { LIMITS, made } from './first.js';
export function within(x: number) { return x < LIMITS.most; }
export function value() { return made.value; }
export function alone() { return 5; }
`,
};

/** Each test executed the functions of these names. */
const EXECUTED: Record<string, string[]> = {
  [IMPORTING_PATH]: ['make', 'made.(given to make)'],
  'packages/a/src/half.test.ts': ['half', 'make', 'made.(given to make)'],
  'tests/e2e/area.test.ts': ['area', 'half', 'make', 'made.(given to make)'],
  'tests/e2e/within.test.ts': ['within', 'make', 'made.(given to make)'],
  'tests/e2e/value.test.ts': ['value', 'make', 'made.(given to make)'],
};

function index(more?: Observation) {
  const record = emptyRecord();
  const functions = Object.entries(TEXTS).map(
    ([path, text]) => [path, unitsOf(path, text).functions] as const,
  );
  for (const [path, names] of Object.entries(EXECUTED)) {
    const executed = new Map(
      functions.map(([source, units]) => {
        const own = units.filter(({ name }) => names.includes(name));
        return [source, new Set(own.map(keyOf))];
      }),
    );
    addObservation(record, { path, hash: '1', executed, programs: new Set() });
  }
  const keysOf = (path: string) => {
    const text = TEXTS[path];
    return text === undefined ? undefined : unitsOf(path, text).functions.map(keyOf);
  };
  if (more) addObservation(record, more);
  tidyRecord(record, keysOf, () => true);
  return new RecordIndex(record);
}

/** The chosen tests with their levels, and the files whose package's suite is chosen. */
function select(path: string, from: string, to: string, more?: Observation) {
  const before = TEXTS[path]!;
  expect(before).toContain(from);
  const now = before.replace(from, to);
  const texts = { ...TEXTS, [path]: now };
  const modules = {
    exists: (each: string) => each in texts,
    containing: (word: string) => Object.keys(texts).filter((each) => texts[each]!.includes(word)),
    units: (each: string) => (each in texts ? unitsOf(each, texts[each]!) : undefined),
  };
  const choice = new Choice();
  const suites: string[] = [];
  const recorded = index(more);
  const selection = new SourceSelection(choice, recorded, modules, (file) => suites.push(file));
  const isChanged = selection.add({ path, before, now });
  const kindOf = (test: string) => Number(test.startsWith('tests/'));
  const chosen = choice.inOrder(kindOf, (test) => recorded.executedBy(test));
  return { tests: chosen.map(({ test, level }) => `${level} ${test}`), suites, isChanged };
}

describe('a changed function', () => {
  it('selects the tests that executed it, unit tests first', () => {
    const { tests, suites } = select(FIRST, 'x / 2', 'x / 3');
    expect(tests).toEqual(['0 packages/a/src/half.test.ts', '0 tests/e2e/area.test.ts']);
    expect(suites).toEqual([]);
  });

  it.each([
    ['selects a test that executed a version before the recorded one', FIRST],
    ['selects a test that executed it before it moved', 'packages/a/src/gone.ts'],
  ])('%s', (_, place) => {
    const executed = new Map([[place, new Set(['half 01234567'])]]);
    const old = { path: 'tests/e2e/old.test.ts', hash: '1', executed, programs: new Set<string>() };
    const { tests, suites } = select(FIRST, 'x / 2', 'x / 3', old);
    expect(tests).toEqual([
      '0 packages/a/src/half.test.ts',
      '0 tests/e2e/old.test.ts',
      '0 tests/e2e/area.test.ts',
    ]);
    expect(suites).toEqual([]);
  });

  it('that no recorded process executed selects those of its file', () => {
    const { tests } = select(FIRST, 'return 1', 'return 2');
    expect(tests).toEqual(['6 packages/a/src/half.test.ts', '6 tests/e2e/area.test.ts']);
    expect(select(SECOND, 'return 5', 'return 6').tests).toEqual([
      '6 tests/e2e/value.test.ts',
      '6 tests/e2e/within.test.ts',
    ]);
  });

  it('that runs at import selects the tests of what is made from it', () => {
    const { tests, suites } = select(FIRST, '() => 3', '() => 4');
    expect(tests).toContain('1 tests/e2e/value.test.ts');
    expect(tests.filter((test) => test.includes('within'))).toEqual([]);
    expect(suites).toEqual([]);
  });
});

describe('a changed constant', () => {
  it('selects the tests of functions that mention it, also through other constants', () => {
    const { tests } = select(FIRST, 'SIZE = 4', 'SIZE = 5');
    expect(tests).toEqual(['1 tests/e2e/area.test.ts', '2 tests/e2e/within.test.ts']);
  });
});

describe('selects nothing', () => {
  it.each([
    ['a comment', 'export function half', '// Half.\nexport function half'],
    ['a type', 'x: number', 'x: 1 | 2'],
  ])('for %s', (_, from, to) => {
    expect(select(FIRST, from, to)).toEqual({ tests: [], suites: [], isChanged: false });
  });

  it('for a function that nothing calls', () => {
    expect(select(FIRST, 'export function half', 'function more() {}\nexport function half').tests).toEqual(
      [],
    );
  });
});

describe('the suite of the package', () => {
  it('is selected for a statement that acts when it is loaded', () => {
    const to = "import './register.js';\nfunction killed";
    expect(select(FIRST, 'function killed', to).suites).toEqual([FIRST]);
  });

  /** The base has another version of `half` than the record. */
  const selectFrom = (nowDivides: number) => {
    const choice = new Choice();
    const suites: string[] = [];
    const modules = { exists: () => true, containing: () => [], units: () => undefined };
    const selection = new SourceSelection(choice, index(), modules, (file) => suites.push(file));
    const divided = (by: number) => TEXTS[FIRST]!.replace('x / 2', `x / ${by}`);
    selection.add({ path: FIRST, before: divided(7), now: divided(nowDivides) });
    const zero = () => 0;
    return { suites, tests: choice.inOrder(zero, zero).map(({ test }) => test) };
  };
  const ofHalf = ['packages/a/src/half.test.ts', 'tests/e2e/area.test.ts'];

  it('is selected if the record knows neither version of a function', () => {
    expect(selectFrom(8)).toEqual({ suites: [FIRST], tests: ofHalf });
  });

  it('is not if the record is newer than the base', () => {
    expect(selectFrom(2)).toEqual({ suites: [], tests: ofHalf });
  });
});

describe('tests whose record is stale', () => {
  const TESTS = [...Object.keys(EXECUTED).slice(1), 'packages/a/src/first.test.ts', 'tests/e2e/new.test.ts'];
  const chosenFor = (path: string, from: string, stale: { changed?: string[]; unrecorded?: string[] }) => {
    const checkout: Asked = {
      index: index(),
      modules: { exists: () => true, containing: () => [], units: () => undefined },
      kinds: new Map(TESTS.map((test) => [test, Number(test.startsWith('tests/'))])),
      tests: TESTS,
      changed: new Set(stale.changed),
      naming: () => [],
      behind: () => [],
      unrecordedThatLoad: (isMeant) => (isMeant(path) ? (stale.unrecorded ?? []) : []),
    };
    const before = TEXTS[path]!;
    const chosen = selectTests(checkout, [{ path, before, now: before.replace(from, '7') }]);
    return chosen.map(({ test, level }) => `${level} ${test}`);
  };

  it('are chosen without a record if they load the changed file, the test beside it first', () => {
    const unrecorded = ['packages/a/src/first.test.ts', 'tests/e2e/new.test.ts'];
    expect(chosenFor(FIRST, 'x / 2', { unrecorded })).toEqual([
      '0 packages/a/src/half.test.ts',
      '0 packages/a/src/first.test.ts',
      '0 tests/e2e/area.test.ts',
      '7 tests/e2e/new.test.ts',
    ]);
  });

  it('are chosen after a change of their own if they executed any function of the changed file', () => {
    const changed = ['tests/e2e/value.test.ts', 'tests/e2e/area.test.ts'];
    expect(chosenFor(SECOND, 'x < LIMITS.most', {})).toEqual(['0 tests/e2e/within.test.ts']);
    expect(chosenFor(SECOND, 'x < LIMITS.most', { changed })).toEqual([
      '0 tests/e2e/within.test.ts',
      '7 tests/e2e/value.test.ts',
    ]);
    expect(chosenFor(FIRST, 'x / 2', { changed: ['packages/a/src/first.test.ts'] })).toContain(
      '0 packages/a/src/first.test.ts',
    );
  });
});
