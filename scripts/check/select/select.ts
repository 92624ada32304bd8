// Which tests a change can break, the most specific first.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importGraph } from '../../queue/imports.mjs';
import { filesOfProjects } from '../../queue/index.mjs';
import { readRecord } from '../record/record.js';
import { filesBelow, isSource } from '../source/sources.js';
import { testFilesIn } from '../source/test-files.js';
import { unitsOf, type ModuleUnits } from '../source/units.js';
import { Choice, LEVELS, type Chosen } from './choice.js';
import { RecordIndex } from './record-index.js';
import { wantedBy } from './select-others.js';
import { SourceSelection, type ChangedFile } from './select-sources.js';

/** In the order in which tests of one level run. */
const KINDS = ['pure', 'unit', 'ranks', 'e2e', 'hosts'] as const;
/** Programs that start what they are given, so that a test that names one may load every package. */
const LAUNCHERS = /packages\/(cli\/(bin|src)|core)|npm run|acc\.js/;

/** @param root The checkout, whose tests and record are used. */
export function selectTests(root: string, changes: readonly ChangedFile[]): Chosen[] {
  return new Selection(root).select(changes);
}

class Selection {
  readonly #root: string;
  readonly #choice = new Choice();
  readonly #index: RecordIndex;
  readonly #kinds: ReadonlyMap<string, number>;
  readonly #testFiles: ReturnType<typeof testFilesIn>;
  readonly #reached = importGraph();
  #unrecorded: readonly string[] | undefined;
  readonly #loaded = new Map<string, ReadonlySet<string>>();

  constructor(root: string) {
    this.#root = root;
    this.#index = new RecordIndex(readRecord(root));
    this.#testFiles = testFilesIn(root);
    const projects = filesOfProjects();
    this.#kinds = new Map(KINDS.flatMap((name, kind) => (projects[name] ?? []).map((file) => [file, kind])));
  }

  select(changes: readonly ChangedFile[]): Chosen[] {
    const modules = new PackageModules(this.#root);
    const suiteOf = (path: string, reason: string): void => this.#addSuite(path, reason);
    const sources = new SourceSelection(this.#choice, this.#index, modules, suiteOf);
    for (const change of changes) {
      if (!isSource(change.path)) this.#addOther(change.path);
      else if (sources.add(change)) this.#addUnrecorded(change.path);
    }
    return this.#choice
      .inOrder(
        (test) => this.#kinds.get(test)!,
        (test) => this.#index.executedBy(test),
      )
      .filter(({ test }) => this.#kinds.has(test));
  }

  #addOther(path: string): void {
    const wanted = wantedBy(path, {
      tests: [...this.#kinds.keys()],
      testsOf: (program) => [...this.#index.testsOfProgram(program), ...this.#naming(program)],
      naming: (text) => [...this.#kinds.keys()].filter((test) => this.#read(test).includes(text)),
    });
    this.#choice.add(wanted.tests ?? [], LEVELS.executed, path);
    this.#choice.add(wanted.others ?? [], LEVELS.mentions, path);
    if (wanted.suite !== undefined) this.#addSuite(path, path);
    if (wanted.isEverything) this.#choice.add(this.#kinds.keys(), LEVELS.suite, path);
  }

  #naming(program: string): string[] {
    return [...this.#kinds.keys()].filter((test) => this.#testFiles.behind(test).has(program));
  }

  /** All tests of a package: its own, those that executed a function of it, and unrecorded ones. */
  #addSuite(path: string, reason: string): void {
    const folder = path.split('/', 2).join('/');
    const own = [...this.#kinds.keys()].filter((test) => test.startsWith(`${folder}/`));
    this.#choice.add([...own, ...this.#index.testsOfPackage(folder)], LEVELS.suite, reason);
    for (const test of this.#unrecordedTests()) {
      const isReached = [...this.#loadedBy(test)].some((file) => file.startsWith(`${folder}/src/`));
      if (isReached) this.#choice.add([test], LEVELS.suite, `${reason} (not recorded)`);
    }
  }

  #addUnrecorded(path: string): void {
    const tests = this.#unrecordedTests().filter((test) => this.#loadedBy(test).has(path));
    this.#choice.add(tests, LEVELS.unrecorded, `${path} (not recorded)`);
    const beside = path.replace(/\.ts$/, '.test.ts');
    this.#choice.add(
      tests.filter((test) => test === beside),
      LEVELS.executed,
      `${path} (not recorded)`,
    );
  }

  #unrecordedTests(): readonly string[] {
    this.#unrecorded ??= [...this.#kinds.keys()].filter(
      (test) => !this.#index.isRecorded(test, this.#testFiles.hashOf(test)),
    );
    return this.#unrecorded;
  }

  /** The files that a test and the programs behind it import, also through what they launch. */
  #loadedBy(test: string): ReadonlySet<string> {
    if (!this.#loaded.has(test)) {
      const own = [test, ...this.#testFiles.behind(test)];
      const launches = own.some((file) => LAUNCHERS.test(this.#read(file)));
      const entries = launches ? [...own, 'packages/cli/src/acc.ts', 'packages/core/src/index.ts'] : own;
      this.#loaded.set(test, new Set(entries.flatMap((file) => [...this.#reached.reached(file)])));
    }
    return this.#loaded.get(test)!;
  }

  readonly #texts = new Map<string, string>();
  #read(path: string): string {
    if (!this.#texts.has(path)) this.#texts.set(path, readFileSync(join(this.#root, path), 'utf8'));
    return this.#texts.get(path)!;
  }
}

/** The sources of all packages. Only those that contain a changed name are parsed. */
class PackageModules {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #units = new Map<string, ModuleUnits>();

  constructor(root: string) {
    const paths = filesBelow(root, 'packages').filter(isSource);
    this.#texts = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  }

  containing(word: string): string[] {
    return [...this.#texts].filter(([, text]) => text.includes(word)).map(([path]) => path);
  }

  units(path: string): ModuleUnits | undefined {
    const text = this.#texts.get(path);
    if (text === undefined) return undefined;
    if (!this.#units.has(path)) this.#units.set(path, unitsOf(path, text));
    return this.#units.get(path);
  }
}
