// Questions to the record of executed functions.
import { IMPORTING, IMPORTING_PATH, type ExecutionRecord } from '../record/record.js';

export type Lookup =
  /** The record does not know this version of the function. Others of its name, with their tests. */
  | { readonly kind: 'unknown'; readonly tests: readonly string[]; readonly keys: readonly string[] }
  /** It runs when packages are imported, so the tests that executed it are no narrow choice. */
  | { readonly kind: 'importing'; readonly tests: readonly string[] }
  | { readonly kind: 'executed'; readonly tests: readonly string[] };

export class RecordIndex {
  readonly #record: ExecutionRecord;
  readonly #hashes: ReadonlyMap<string, string>;
  #counts: ReadonlyMap<string, number> | undefined;

  constructor(record: ExecutionRecord) {
    this.#record = record;
    this.#hashes = new Map([...record.tests.values()].map(({ path, hash }) => [path, hash]));
  }

  /** Whether a test has a record of its present version. */
  isRecorded(test: string, hash: string): boolean {
    return this.#hashes.get(test) === hash;
  }

  /** Whether a test has a record, perhaps of a former version. */
  isKnown(test: string): boolean {
    return this.#hashes.has(test);
  }

  lookUp(path: string, key: string): Lookup {
    const functions = this.#record.executions.get(path) ?? new Map<string, Set<number>>();
    const numbers = functions.get(key);
    if (!numbers) {
      const name = nameOfKey(key);
      const same = [...functions].filter(([other]) => nameOfKey(other) === name);
      const tests = same.flatMap(([, others]) => this.#paths(others));
      return { kind: 'unknown', tests, keys: same.map(([other]) => other) };
    }
    return { kind: numbers.has(IMPORTING) ? 'importing' : 'executed', tests: this.#paths(numbers) };
  }

  /**
   * The tests that executed a version of a function which no longer exists: they were recorded before
   * it changed, or moved to this file, and perhaps others since.
   *
   * @param isThere Whether a file has a function. Without a key: whether the file exists.
   */
  testsOfGone(path: string, name: string, isThere: (path: string, key?: string) => boolean): string[] {
    const files = [...this.#record.executions].filter(([file]) => file === path || !isThere(file));
    const gone = files.flatMap(([file, functions]) =>
      [...functions].filter(([key]) => nameOfKey(key) === name && !isThere(file, key)),
    );
    return gone.flatMap(([, numbers]) => (numbers.has(IMPORTING) ? [] : this.#paths(numbers)));
  }

  /** The tests that executed any function of a file, apart from those that run at its import. */
  testsOfFile(path: string): Set<string> {
    const found = new Set<string>();
    for (const numbers of this.#record.executions.get(path)?.values() ?? []) {
      if (!numbers.has(IMPORTING)) for (const test of this.#paths(numbers)) found.add(test);
    }
    return found;
  }

  /** @param folder For example `packages/fsdp`. */
  testsOfPackage(folder: string): Set<string> {
    const paths = [...this.#record.executions.keys()].filter((path) => path.startsWith(`${folder}/`));
    return new Set(paths.flatMap((path) => [...this.testsOfFile(path)]));
  }

  /** The tests that loaded a program or a helper outside packages. */
  testsOfProgram(path: string): string[] {
    return this.#paths(this.#record.programs.get(path) ?? []);
  }

  /** How many functions a test executed. Infinity if that is not recorded. */
  executedBy(test: string): number {
    this.#counts ??= this.#count();
    return this.#counts.get(test) ?? Infinity;
  }

  #count(): Map<string, number> {
    const counts = new Map<string, number>();
    for (const functions of this.#record.executions.values()) {
      for (const numbers of functions.values()) {
        for (const test of this.#paths(numbers)) counts.set(test, (counts.get(test) ?? 0) + 1);
      }
    }
    return counts;
  }

  #paths(numbers: Iterable<number>): string[] {
    return [...numbers].flatMap((number) => {
      const path = this.#record.tests.get(number)?.path;
      return path === undefined || path === IMPORTING_PATH ? [] : [path];
    });
  }
}

/** A key is `name hash`. */
export const nameOfKey = (key: string): string => key.slice(0, key.lastIndexOf(' '));
