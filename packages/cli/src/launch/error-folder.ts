import { mkdtempSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ErrorReport } from '@acc/platform/uncaught';
import { shorten } from './shorten.js';
import type { Watchdog } from './watchdog.js';

/** The file with whole errors is removed by the next job that fails after as many days. */
export const KEPT_DAYS = 7;
const DAY_MS = 24 * 3600 * 1000;
const KEPT_FOLDER = /^acc-errors-[A-Za-z0-9]{6}$/;

/** The folder in which the ranks of a job report the errors that end them. It ends with the launcher. */
export class ErrorFolder {
  readonly #path: string;

  /** Undefined if no folder can be made. Then ranks print their errors. */
  static create(watchdog: Watchdog): ErrorFolder | undefined {
    try {
      const path = mkdtempSync(join(tmpdir(), `acc-errors-${process.pid}-`));
      watchdog.own(path);
      return new ErrorFolder(path);
    } catch {
      return undefined;
    }
  }

  private constructor(path: string) {
    this.#path = path;
  }

  fileOf(rank: number): string {
    return join(this.#path, `rank-${rank}.json`);
  }

  remove(): void {
    rmSync(this.#path, { recursive: true, force: true });
  }
}

export interface RankWithError {
  readonly rank: number;
  readonly pid: number;
  readonly error: ErrorReport | undefined;
}

/**
 * Writes the whole texts of errors to a file, if they have more than the screen shows.
 *
 * @returns The path. Undefined if nothing is written.
 */
export function keepWholeErrors(ranks: readonly RankWithError[]): string | undefined {
  const errors = ranks.flatMap(({ rank, pid, error }) => (error ? [{ ...error, rank, pid }] : []));
  const isShown = errors.every(
    ({ text, whole }) =>
      text === whole && text === errors[0]!.text && text === shorten(text.split('\n')).join('\n'),
  );
  if (isShown) return undefined;
  try {
    removeOldErrors(tmpdir());
    const path = join(mkdtempSync(join(tmpdir(), 'acc-errors-')), 'errors.log');
    const texts = errors.map(({ rank, pid, whole }) => `rank ${rank} (pid ${pid}):\n${whole}\n`);
    writeFileSync(path, texts.join('\n'), { mode: 0o600 });
    return path;
  } catch {
    // A full disk must not hide the error itself.
    return undefined;
  }
}

/** Removes old error folders. Folders of other users stay, because they cannot be removed. */
function removeOldErrors(folder: string): void {
  const oldest = Date.now() - KEPT_DAYS * DAY_MS;
  for (const name of readdirSync(folder).filter((each) => KEPT_FOLDER.test(each))) {
    const path = join(folder, name);
    try {
      if (statSync(path).mtimeMs < oldest) rmSync(path, { recursive: true });
    } catch (error) {
      // Another job may have removed it.
      if (!(error as NodeJS.ErrnoException).syscall) throw error;
    }
  }
}
