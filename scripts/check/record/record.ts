// The record: which tests executed which functions. It is kept as text in tests/executed, one file a
// package, so that a refreshed record differs only in the lines of what changed.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

export const RECORD_FOLDER = 'tests/executed';

/** Importing all packages is recorded like a test, because every test executes these functions. */
export const IMPORTING = 0;
export const IMPORTING_PATH = '(import)';

export interface RecordedTest {
  readonly path: string;
  /** Of the test and the files of `tests` behind it. */
  readonly hash: string;
}

/** The numbers of the tests that executed each function: by path of the source, then by `name hash`. */
export type Executions = Map<string, Map<string, Set<number>>>;

export interface ExecutionRecord {
  readonly tests: Map<number, RecordedTest>;
  readonly executions: Executions;
  /** Tests by the programs and helpers outside packages that they loaded. */
  readonly programs: Map<string, Set<number>>;
}

export const emptyRecord = (): ExecutionRecord => ({
  tests: new Map(),
  executions: new Map(),
  programs: new Map(),
});

/** Sets as ranges of numbers in base 36: `1-5,9,2k`. `-` if it is empty. */
export function formatNumbers(numbers: Iterable<number>): string {
  const sorted = [...numbers].sort((a, b) => a - b);
  const ranges: [number, number][] = [];
  for (const number of sorted) {
    const last = ranges.at(-1);
    if (last && last[1] === number - 1) last[1] = number;
    else ranges.push([number, number]);
  }
  const text = ([from, to]: [number, number]): string =>
    from === to ? from.toString(36) : `${from.toString(36)}-${to.toString(36)}`;
  return ranges.length === 0 ? '-' : ranges.map(text).join(',');
}

export function parseNumbers(text: string): Set<number> {
  if (text === '-') return new Set();
  const ranges = text
    .split(',')
    .map((range) => range.split('-').map((digits) => Number.parseInt(digits, 36)));
  return new Set(
    ranges.flatMap(([from, to = from]) => Array.from({ length: to! - from! + 1 }, (_, i) => from! + i)),
  );
}

/** A source is a line, and each of its functions a line: two spaces, the tests, name and hash. */
export function formatExecutions(executions: Executions): string {
  const lines = [...executions].sort(byText).flatMap(([path, functions]) => {
    const own = [...functions].sort(byText).map(([key, tests]) => `  ${formatNumbers(tests)} ${key}`);
    return [path, ...own];
  });
  return `${lines.join('\n')}\n`;
}

export function parseExecutions(text: string): Executions {
  const executions: Executions = new Map();
  let functions = new Map<string, Set<number>>();
  for (const line of text.split('\n')) {
    if (line === '') continue;
    if (!line.startsWith('  ')) executions.set(line, (functions = new Map<string, Set<number>>()));
    else {
      const end = line.indexOf(' ', 2);
      functions.set(line.slice(end + 1), parseNumbers(line.slice(2, end)));
    }
  }
  return executions;
}

const byText = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number =>
  a < b ? -1 : Number(a > b);

export function readRecord(root: string): ExecutionRecord {
  const record = emptyRecord();
  const folder = join(root, RECORD_FOLDER);
  if (!existsSync(join(folder, 'tests.txt'))) return record;
  const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
  for (const line of linesOf(read('tests.txt'))) {
    const [number, hash, path] = line.split(' ');
    record.tests.set(Number.parseInt(number!, 36), { path: path!, hash: hash! });
  }
  for (const line of linesOf(read('programs.txt'))) {
    const [numbers, path] = line.split(' ');
    record.programs.set(path!, parseNumbers(numbers!));
  }
  for (const name of readdirSync(join(folder, 'packages'))) {
    for (const [path, functions] of parseExecutions(read(join('packages', name)))) {
      record.executions.set(path, functions);
    }
  }
  return record;
}

const linesOf = (text: string): string[] => text.split('\n').filter((line) => line !== '');

export function writeRecord(root: string, { tests, executions, programs }: ExecutionRecord): void {
  const folder = join(root, RECORD_FOLDER);
  rmSync(join(folder, 'packages'), { recursive: true, force: true });
  mkdirSync(join(folder, 'packages'), { recursive: true });
  const write = (name: string, lines: readonly string[]): void =>
    writeFileSync(join(folder, name), `${lines.join('\n')}\n`);
  const numbered = [...tests].sort(([a], [b]) => a - b);
  write(
    'tests.txt',
    numbered.map(([number, { hash, path }]) => `${number.toString(36)} ${hash} ${path}`),
  );
  write(
    'programs.txt',
    [...programs].sort(byText).map(([path, numbers]) => `${formatNumbers(numbers)} ${path}`),
  );
  const packages = new Map<string, Executions>();
  for (const [path, functions] of executions) {
    getOr(packages, path.split('/')[1]!, () => new Map()).set(path, functions);
  }
  for (const [name, own] of packages) {
    writeFileSync(join(folder, 'packages', `${name}.txt`), formatExecutions(own));
  }
}

/** The observations of one run of a test. */
export interface Observation extends RecordedTest {
  /** The functions that it executed: by path of the source, `name hash`. */
  readonly executed: ReadonlyMap<string, ReadonlySet<string>>;
  readonly programs: ReadonlySet<string>;
}

/** Replaces the record of a test. */
export function addObservation(record: ExecutionRecord, seen: Observation): void {
  const number = numberOf(record, seen.path);
  for (const functions of record.executions.values())
    for (const tests of functions.values()) tests.delete(number);
  for (const tests of record.programs.values()) tests.delete(number);
  record.tests.set(number, { path: seen.path, hash: seen.hash });
  for (const [path, keys] of seen.executed) {
    const functions = getOr(record.executions, path, () => new Map<string, Set<number>>());
    for (const key of keys) getOr(functions, key, () => new Set<number>()).add(number);
  }
  for (const path of seen.programs) getOr(record.programs, path, () => new Set<number>()).add(number);
}

function numberOf({ tests }: ExecutionRecord, path: string): number {
  const known = [...tests].find(([, test]) => test.path === path)?.[0];
  return known ?? (path === IMPORTING_PATH ? IMPORTING : Math.max(IMPORTING, ...tests.keys()) + 1);
}

function getOr<K, V>(map: Map<K, V>, key: K, make: () => V): V {
  let value = map.get(key);
  if (value === undefined) map.set(key, (value = make()));
  return value;
}

/**
 * Adds functions that no test executed, and removes those that are neither in the sources nor
 * executed by a recorded test.
 *
 * @param functionsOf The keys of the functions of a source. Undefined if it does not exist.
 * @param exists Whether a test file exists.
 */
export function tidyRecord(
  record: ExecutionRecord,
  functionsOf: (path: string) => readonly string[] | undefined,
  exists: (path: string) => boolean,
): void {
  for (const [number, { path }] of record.tests) {
    if (number === IMPORTING || exists(path)) continue;
    record.tests.delete(number);
  }
  for (const [path, functions] of record.executions) {
    const present = functionsOf(path) ?? [];
    for (const key of present) getOr(functions, key, () => new Set<number>());
    for (const [key, tests] of functions) {
      for (const number of tests) if (!record.tests.has(number)) tests.delete(number);
      if (tests.size === 0 && !present.includes(key)) functions.delete(key);
    }
    if (functions.size === 0) record.executions.delete(path);
  }
  for (const [path, tests] of record.programs) {
    for (const number of tests) if (!record.tests.has(number)) tests.delete(number);
    if (tests.size === 0) record.programs.delete(path);
  }
}
