import { appendFileSync, closeSync, openSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AccError } from '@acc/contract';
import { files } from '@acc/platform';

/** The files for the output of a rank. */
export interface LogPaths {
  readonly stdout: string;
  readonly stderr: string;
}

export interface Logs {
  readonly stdout: LogFile;
  readonly stderr: LogFile;
}

/** A file that receives one output stream of a rank as it is. Text is appended. */
export class LogFile {
  readonly #path: string;
  #file: number | undefined;

  constructor(path: string) {
    this.#path = path;
    files.makeFolder(dirname(path));
    this.#file = openSync(path, 'a');
  }

  /** Writes at once. If the file cannot be written to, it says so once and the job continues. */
  write(chunk: Buffer): void {
    if (this.#file === undefined) return;
    try {
      writeFileSync(this.#file, chunk);
    } catch (error) {
      warnIncomplete(this.#path, error);
      this.close();
    }
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }
}

/** Appends text to a file. Returns false, and says so, if the file cannot be written to. */
export function appendToLog(path: string, text: string): boolean {
  try {
    appendFileSync(path, text);
    return true;
  } catch (error) {
    warnIncomplete(path, error);
    return false;
  }
}

function warnIncomplete(path: string, error: unknown): void {
  process.stderr.write(
    `acc: ${path} is incomplete, because it cannot be written to: ${(error as Error).message}\n`,
  );
}

/** The files of a rank: `<folder>/attempt-0/rank-3.stdout.log`. Each start of the job has a folder. */
export function logPaths(folder: string, restart: number, rank: number): LogPaths {
  const path = (channel: string): string => join(folder, `attempt-${restart}`, `rank-${rank}.${channel}.log`);
  return { stdout: path('stdout'), stderr: path('stderr') };
}

/** @throws AccError `ACC_LOG_NOT_WRITABLE`. */
export function openLogs({ stdout, stderr }: LogPaths): Logs {
  try {
    return { stdout: new LogFile(stdout), stderr: new LogFile(stderr) };
  } catch (cause) {
    throw new AccError(
      'ACC_LOG_NOT_WRITABLE',
      `${stdout} cannot be written to: ${(cause as Error).message}.`,
      {
        help: 'Choose another folder in --log-dir.',
        details: { path: stdout },
        cause,
      },
    );
  }
}
