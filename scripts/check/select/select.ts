// Which tests a change can break, the most specific first.
import { isSource } from '../source/sources.js';
import type { Checkout } from './checkout.js';
import { Choice, LEVELS, type Chosen } from './choice.js';
import { wantedBy } from './select-others.js';
import { SourceSelection, type ChangedFile } from './select-sources.js';

/** The questions of a choice to a checkout. */
export type Asked = Pick<
  Checkout,
  'index' | 'modules' | 'kinds' | 'tests' | 'changed' | 'naming' | 'behind' | 'unrecordedThatLoad'
>;

/** @param checkout Its tests and its record are used. */
export function selectTests(checkout: Asked, changes: readonly ChangedFile[]): Chosen[] {
  return new Selection(checkout).select(changes);
}

class Selection {
  readonly #checkout: Asked;
  readonly #choice = new Choice();

  constructor(checkout: Asked) {
    this.#checkout = checkout;
  }

  select(changes: readonly ChangedFile[]): Chosen[] {
    const { index, modules, kinds } = this.#checkout;
    const suiteOf = (path: string, reason: string): void => this.#addSuite(path, reason);
    const sources = new SourceSelection(this.#choice, index, modules, suiteOf);
    for (const change of changes) {
      if (!isSource(change.path)) this.#addOther(change);
      else if (sources.add(change)) this.#addStale(change.path);
    }
    return this.#choice
      .inOrder(
        (test) => kinds.get(test)!,
        (test) => index.executedBy(test),
      )
      .filter(({ test }) => kinds.has(test));
  }

  #addOther(change: ChangedFile): void {
    const { path } = change;
    const { index, kinds } = this.#checkout;
    const wanted = wantedBy(change, {
      tests: this.#checkout.tests,
      testsOf: (program) => [...index.testsOfProgram(program), ...this.#checkout.behind(program)],
      naming: (text) => this.#checkout.naming(text),
    });
    this.#choice.add(wanted.tests ?? [], LEVELS.executed, path);
    this.#choice.add(wanted.others ?? [], LEVELS.mentions, path);
    if (wanted.suite !== undefined) this.#addSuite(path, path);
    if (wanted.isEverything) this.#choice.add(kinds.keys(), LEVELS.suite, path);
  }

  /** All tests of a package: its own, those that executed a function of it, and unrecorded ones. */
  #addSuite(path: string, reason: string): void {
    const folder = path.split('/', 2).join('/');
    const own = this.#checkout.tests.filter((test) => test.startsWith(`${folder}/`));
    this.#choice.add([...own, ...this.#checkout.index.testsOfPackage(folder)], LEVELS.suite, reason);
    const unrecorded = this.#checkout.unrecordedThatLoad((file) => file.startsWith(`${folder}/src/`));
    this.#choice.add(unrecorded, LEVELS.suite, `${reason} (not recorded)`);
  }

  /**
   * Tests without a record that load a changed file. Of a test that has changed since its record, the
   * functions are not trusted, but the files are.
   */
  #addStale(path: string): void {
    const { index } = this.#checkout;
    const tests = this.#checkout.unrecordedThatLoad((file) => file === path);
    this.#choice.add(tests, LEVELS.unrecorded, `${path} (not recorded)`);
    const changed = [...index.testsOfFile(path)].filter((test) => this.#checkout.changed.has(test));
    this.#choice.add(changed, LEVELS.unrecorded, `${path} (changed since its record)`);
    const beside = path.replace(/\.ts$/, '.test.ts');
    if (tests.includes(beside) || this.#checkout.changed.has(beside)) {
      this.#choice.add([beside], LEVELS.executed, `${path} (not recorded)`);
    }
  }
}
