// What choices of tests ask of a checkout, read once for many of them.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { importGraph } from '../../queue/imports.mjs';
import { filesOfProjects } from '../../queue/index.mjs';
import { readRecord } from '../record/record.js';
import { filesBelow, isSource } from '../source/sources.js';
import { testFilesIn } from '../source/test-files.js';
import { unitsOf, type ModuleUnits } from '../source/units.js';
import type { Modules } from './mentions.js';
import { RecordIndex } from './record-index.js';

/** In the order in which tests of one level run. */
const KINDS = ['pure', 'unit', 'ranks', 'e2e', 'hosts'] as const;
/** Programs that start what they are given, so that a test that names one may load every package. */
const LAUNCHERS = /packages\/(cli\/(bin|src)|core)|npm run|acc\.js/;

interface StaleTests {
  readonly unrecorded: readonly string[];
  readonly changed: ReadonlySet<string>;
}

export class Checkout {
  readonly index: RecordIndex;
  readonly modules: Modules;
  /** All test files, with the place of their project. */
  readonly kinds: ReadonlyMap<string, number>;
  readonly #root: string;
  readonly #testFiles: ReturnType<typeof testFilesIn>;
  readonly #reached = importGraph();
  readonly #loaded = new Map<string, ReadonlySet<string>>();
  readonly #texts = new Map<string, string>();
  #stale: StaleTests | undefined;

  constructor(root: string) {
    this.#root = root;
    this.index = new RecordIndex(readRecord(root));
    this.modules = new PackageModules(root);
    this.#testFiles = testFilesIn(root);
    const projects = filesOfProjects();
    this.kinds = new Map(KINDS.flatMap((name, kind) => (projects[name] ?? []).map((file) => [file, kind])));
  }

  get tests(): string[] {
    return [...this.kinds.keys()];
  }

  /** Tests whose text contains one. */
  naming(text: string): string[] {
    return this.tests.filter((test) => this.#read(test).includes(text));
  }

  /** Tests that name a program or a helper, or name a file that does. */
  behind(program: string): string[] {
    return this.tests.filter((test) => this.#testFiles.behind(test).has(program));
  }

  /** Tests without any record that load a file for which `isMeant` holds. */
  unrecordedThatLoad(isMeant: (file: string) => boolean): string[] {
    return this.unrecorded.filter((test) => [...this.#loadedBy(test)].some(isMeant));
  }

  /** Tests that have no record. */
  get unrecorded(): readonly string[] {
    return this.#staleTests().unrecorded;
  }

  /** Tests that have changed since their record. */
  get changed(): ReadonlySet<string> {
    return this.#staleTests().changed;
  }

  #staleTests(): StaleTests {
    if (!this.#stale) {
      const changed = this.tests.filter(
        (test) => this.index.isKnown(test) && !this.index.isRecorded(test, this.#testFiles.hashOf(test)),
      );
      const unrecorded = this.tests.filter((test) => !this.index.isKnown(test));
      this.#stale = { unrecorded, changed: new Set(changed) };
    }
    return this.#stale;
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

  #read(path: string): string {
    if (!this.#texts.has(path)) this.#texts.set(path, readFileSync(join(this.#root, path), 'utf8'));
    return this.#texts.get(path)!;
  }
}

/** The sources of all packages. Only those that contain a changed name are parsed. */
class PackageModules implements Modules {
  readonly #texts: ReadonlyMap<string, string>;
  readonly #units = new Map<string, ModuleUnits>();

  constructor(root: string) {
    const paths = filesBelow(root, 'packages').filter(isSource);
    this.#texts = new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
  }

  exists(path: string): boolean {
    return this.#texts.has(path);
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
