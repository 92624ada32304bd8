// Tests for changed TypeScript sources of packages.
import { keyOf, unitsOf, type ModuleUnits } from '../source/units.js';
import { changedUnits, type ChangedName } from './changed-units.js';
import { LEVELS, type Choice } from './choice.js';
import { spread, type Mentioning, type Modules } from './mentions.js';
import { nameOfKey, type RecordIndex } from './record-index.js';

export interface ChangedFile {
  /** From the root of the repository. */
  readonly path: string;
  /** Undefined if the file is new. */
  readonly before: string | undefined;
  /** Undefined if the file is gone. */
  readonly now: string | undefined;
}

const NOTHING: ModuleUnits = { functions: [], statements: [] };

export class SourceSelection {
  readonly #choice: Choice;
  readonly #index: RecordIndex;
  readonly #modules: Modules;
  readonly #suiteOf: (path: string, reason: string) => void;
  /** The keys of the present version of the changed file. */
  #present: ReadonlySet<string> = new Set();
  /** The keys of files as they are; of the changed file also those before the change. */
  readonly #keys = new Map<string, ReadonlySet<string>>();
  /** Functions that were followed through the names of others. */
  readonly #followed = new Set<string>();

  /** @param suiteOf Chooses all tests of the package of a file. */
  constructor(
    choice: Choice,
    index: RecordIndex,
    modules: Modules,
    suiteOf: (path: string, reason: string) => void,
  ) {
    this.#choice = choice;
    this.#index = index;
    this.#modules = modules;
    this.#suiteOf = suiteOf;
  }

  /** Returns whether anything changed that exists at run time. */
  add({ path, before, now }: ChangedFile): boolean {
    const units = (text: string | undefined): ModuleUnits =>
      text === undefined ? NOTHING : unitsOf(path, text);
    const [former, present] = [units(before), units(now)];
    const { functions, names, hasEffect } = changedUnits(former, present);
    this.#present = new Set(present.functions.map(keyOf));
    this.#keys.set(path, new Set([...former.functions.map(keyOf), ...this.#present]));
    for (const key of functions) this.#addFunction({ path, key, steps: 0 }, LEVELS.executed);
    this.#addNames(path, names, LEVELS.mentions);
    if (hasEffect) this.#suiteOf(path, `${path} acts when it is loaded`);
    return functions.length > 0 || names.length > 0 || hasEffect;
  }

  #addNames(path: string, names: readonly ChangedName[], level: number): void {
    if (names.length === 0) return;
    const { functions, effects } = spread(path, names, this.#modules);
    for (const found of functions) this.#addFunction(found, Math.min(level + found.steps, LEVELS.file));
    for (const file of effects) this.#suiteOf(file, `${file} acts when it is loaded`);
  }

  #addFunction({ path, key }: Mentioning, level: number): void {
    const id = `${path} ${key}`;
    if (this.#followed.has(id)) return;
    this.#followed.add(id);
    const found = this.#index.lookUp(path, key);
    const name = nameOfKey(key);
    const gone = this.#index.testsOfGone(path, name, (file, present) =>
      present === undefined ? this.#modules.exists(file) : this.#keysOf(file).has(present),
    );
    this.#choice.add(gone, level, `${path}#${name}, of which a former version is recorded`);
    if (found.kind === 'importing') return this.#addImporting(path, key, found.tests, level);
    this.#choice.add(found.tests, level, `${path}#${name}`);
    // A record that is newer than the base knows the present version.
    const isKnown = found.kind === 'executed' || found.keys.some((other) => this.#present.has(other));
    if (!isKnown) this.#suiteOf(path, `${path}#${name} is not in the record`);
    else if (found.tests.length + gone.length === 0) this.#addFile(path, name);
  }

  #keysOf(path: string): ReadonlySet<string> {
    if (!this.#keys.has(path)) {
      this.#keys.set(path, new Set(this.#modules.units(path)?.functions.map(keyOf)));
    }
    return this.#keys.get(path)!;
  }

  /** No recorded process executed it, perhaps because its process was killed. */
  #addFile(path: string, name: string): void {
    const tests = this.#index.testsOfFile(path);
    if (tests.size === 0) return this.#suiteOf(path, `no test executed ${path}`);
    this.#choice.add(tests, LEVELS.file, `${path}, whose ${name} no recorded process executed`);
  }

  /**
   * Every test executed the function, because it runs when packages are imported. It matters to the
   * tests of its package, and to those that execute what mentions it.
   */
  #addImporting(path: string, key: string, tests: readonly string[], level: number): void {
    const folder = path.split('/', 2).join('/');
    const own = tests.filter((test) => test.startsWith(`${folder}/`));
    this.#choice.add(own, level, `${path}#${nameOfKey(key)}`);
    const name = nameOfKey(key)
      .split('.')
      .findLast((part) => /^([gs]et )?#?\w+$/.test(part));
    if (name === undefined) return this.#suiteOf(path, `${path} acts when it is loaded`);
    const changed = { name: name.replace(/^[gs]et /, ''), isExported: true };
    this.#addNames(path, [changed], level + 1);
  }
}
