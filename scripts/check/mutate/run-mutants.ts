// Runs tests with mutants, in a copy of the tree.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ChosenReport } from '../run-chosen.js';
import { applied, appliedAll, type Mutant } from './mutant.js';

export interface Outcome {
  /**
   * unbuilt: the mutant does not compile, so it is no defect that a test could notice. unsure: the
   * test that failed passes when it is repeated, or also fails without the mutant.
   */
  readonly kind: 'killed' | 'survived' | 'unbuilt' | 'unsure';
  readonly chosen: readonly string[];
  /** The test that failed, or why it was not built. */
  readonly by: string | undefined;
  readonly seconds: number;
}

interface Run {
  /** Undefined if no test could run. */
  readonly report: ChosenReport | undefined;
  readonly output: string;
}

export class MutantRunner {
  readonly #root: string;
  /** Whether test files pass without a mutant. */
  readonly #passes = new Map<string, boolean>();

  /** @param root The copy, without mutants. */
  constructor(root: string) {
    this.#root = root;
  }

  /**
   * Makes one mutant, builds what it needs, and runs tests until one fails.
   *
   * @param files The tests. Default: those that the mutant can break.
   */
  async run(mutant: Mutant, files?: readonly string[]): Promise<Outcome> {
    const startedAt = performance.now();
    const text = readFileSync(join(this.#root, mutant.path), 'utf8');
    const args = files ? ['--files', files.join()] : ['--base', 'HEAD'];
    const { report, output } = await this.#with(new Map([[mutant.path, applied(text, mutant)]]), args);
    const seconds = (performance.now() - startedAt) / 1000;
    if (!report) return { kind: 'unbuilt', chosen: [], by: reasonIn(output), seconds };
    const { chosen, failures } = report;
    const [by] = failures;
    if (by === undefined) return { kind: 'survived', chosen, by, seconds };
    const again = await this.#with(new Map([[mutant.path, applied(text, mutant)]]), ['--files', fileOf(by)]);
    const failsAgain = again.report !== undefined && again.report.failures.length > 0;
    const isKilled = failsAgain && (await this.#passesWithout(fileOf(by)));
    return { kind: isKilled ? 'killed' : 'unsure', chosen, by, seconds };
  }

  /** Runs all tests with all mutants together. Returns the files of the failed tests. */
  async runAll(mutants: readonly Mutant[]): Promise<string[]> {
    const paths = [...new Set(mutants.map(({ path }) => path))];
    const texts = paths.map((path) => {
      const own = mutants.filter((mutant) => mutant.path === path);
      return [path, appliedAll(readFileSync(join(this.#root, path), 'utf8'), own)] as const;
    });
    const { report, output } = await this.#with(new Map(texts), ['--whole']);
    if (!report) throw new Error(`The tests did not run:\n${output}`);
    return [...new Set(report.failures.map(fileOf))];
  }

  async #passesWithout(file: string): Promise<boolean> {
    const known = this.#passes.get(file);
    if (known !== undefined) return known;
    const { report } = await this.#with(new Map(), ['--files', file]);
    const passes = report?.failures.length === 0;
    this.#passes.set(file, passes);
    return passes;
  }

  /** Runs run-chosen.ts of the copy while some of its files have other texts. */
  async #with(texts: ReadonlyMap<string, string>, args: readonly string[]): Promise<Run> {
    const folder = mkdtempSync(join(tmpdir(), 'acc-mutant-'));
    const path = join(folder, 'report.json');
    const before = [...texts.keys()].map(
      (file) => [file, readFileSync(join(this.#root, file), 'utf8')] as const,
    );
    try {
      for (const [file, text] of texts) writeFileSync(join(this.#root, file), text);
      const { code, output } = await runProgram(this.#root, ['--report', path, ...args]);
      const report = code === 0 ? (JSON.parse(readFileSync(path, 'utf8')) as ChosenReport) : undefined;
      // The cache has an addon for each version of its sources. Nothing else uses that of a mutant.
      const hasOwnAddon = [...texts.keys()].some((file) => file.startsWith('packages/native/cpp/'));
      if (report && hasOwnAddon) rmSync(dirname(report.addon), { recursive: true });
      return { report, output };
    } finally {
      for (const [file, text] of before) writeFileSync(join(this.#root, file), text);
      rmSync(folder, { recursive: true });
    }
  }
}

/** The line of an error, without its stack. */
const reasonIn = (output: string): string => {
  const lines = output.trim().split('\n');
  return lines.findLast((line) => /error/i.test(line)) ?? lines.at(-1)!;
};

/** A failure begins with the path of its file. */
const fileOf = (failure: string): string => failure.split(' > ', 1)[0]!;

async function runProgram(
  root: string,
  args: readonly string[],
): Promise<{ code: number | null; output: string }> {
  const program = ['--import', 'tsx', 'scripts/check/run-chosen.ts', ...args];
  const child = spawn(process.execPath, program, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (output += text));
  }
  const end = (signal: NodeJS.Signals): boolean => child.kill(signal);
  process.on('SIGTERM', end).on('SIGINT', end);
  const [code] = (await once(child, 'close')) as [number | null];
  process.off('SIGTERM', end).off('SIGINT', end);
  return { code, output };
}
