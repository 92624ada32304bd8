import { statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { findRuns } from '@acc/records';
import type { RunSummary } from '../server/answers.js';
import { WatchedRun } from './watched-run.js';

/** New runs are looked for less often than new records: that reads whole folders. */
const LOOK_MS = 2000;

/** All runs at the given paths. Only those that a page has asked for are read. */
export class RunSet {
  /** By their folder. */
  readonly #runs = new Map<string, WatchedRun>();
  #lookedAt = Date.now();

  /**
   * @param paths Of runs, or of folders with runs.
   * @param attached The folder with the records of a job to which requests may be sent.
   * @throws AccError `ACC_RECORDS_MISSING` if there are none at one of them.
   */
  constructor(
    readonly paths: readonly string[],
    private readonly attached?: string,
  ) {
    for (const path of paths) this.#add(path);
  }

  get size(): number {
    return this.#runs.size;
  }

  /** The newest one first. */
  get summaries(): RunSummary[] {
    return [...this.#runs.values()]
      .map(({ id, name, folder }) => ({ id, name, folder, changedAt: changedAt(folder) }))
      .sort((a, b) => b.changedAt - a.changedAt);
  }

  get versions(): Readonly<Record<string, number>> {
    const read = [...this.#runs.values()].filter(({ version }) => version > 0);
    return Object.fromEntries(read.map(({ id, version }) => [id, version]));
  }

  /**
   * A single run that cannot be read is an error of the command. Of several, the page says which.
   *
   * @throws AccError `ACC_RECORDS_FORMAT`, `ACC_RECORDS_MISSING`.
   */
  async check(): Promise<void> {
    const [only, ...others] = this.#runs.values();
    if (others.length === 0) await only?.check();
  }

  /** Reads a run if it was not read yet. Undefined for an unknown one. */
  async open(id: string): Promise<WatchedRun | undefined> {
    const run = [...this.#runs.values()].find((each) => each.id === id);
    if (run?.version === 0) await run.read();
    return run;
  }

  /**
   * Looks for new runs, and reads what was appended to those that are read.
   *
   * @returns Whether something is new.
   */
  async refresh(): Promise<boolean> {
    const before = this.#runs.size;
    if (Date.now() - this.#lookedAt > LOOK_MS) this.#look();
    const open = [...this.#runs.values()].filter(({ version }) => version > 0);
    const changes: boolean[] = [];
    for (const run of open) changes.push(await run.read());
    return changes.includes(true) || this.#runs.size > before;
  }

  #look(): void {
    this.#lookedAt = Date.now();
    for (const path of this.paths) {
      try {
        this.#add(path);
      } catch {
        // The folder is gone. Reading its runs says so.
      }
    }
  }

  /** Takes back requests that were not answered. */
  async close(): Promise<void> {
    for (const { job } of this.#runs.values()) await job?.close();
  }

  #newRun(folder: string): WatchedRun {
    return new WatchedRun(`r${this.#runs.size}`, folder, folder === this.attached);
  }

  #add(path: string): void {
    // The name of a run has those of its folders, and two paths may lead to the same one.
    for (const folder of findRuns(path).map((found) => resolve(found)))
      if (!this.#runs.has(folder)) this.#runs.set(folder, this.#newRun(folder));
  }
}

/** When the first rank last wrote steps, or else when the folder changed. 0 if it is gone. */
function changedAt(folder: string): number {
  for (const path of [join(folder, 'steps-rank-0.acc'), folder]) {
    const found = statSync(path, { throwIfNoEntry: false });
    if (found) return found.mtimeMs;
  }
  return 0;
}
