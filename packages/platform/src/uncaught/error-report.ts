import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { isAccError, showsWholeStack } from '@acc/contract';
import { describeError, wholeError } from './describe-error.js';

/** The error that ended a process, for the launcher that started it. */
export interface ErrorReport {
  /** The code, if it is an error of this project. */
  readonly code: string | undefined;
  /** For the screen. Equal errors of several ranks have the same text. */
  readonly text: string;
  /** With all causes, frames and details. */
  readonly whole: string;
}

/** Never throws, although getters and methods of the program's errors may. */
export function reportOf(error: unknown): ErrorReport {
  try {
    const whole = wholeError(error);
    const text = showsWholeStack() ? whole : describeError(error);
    return { code: isAccError(error) ? error.code : undefined, text, whole };
  } catch {
    const text = plainText(error);
    return { code: undefined, text, whole: text };
  }
}

function plainText(error: unknown): string {
  try {
    const { stack } = Object(error) as { readonly stack?: unknown };
    return String(stack ?? error);
  } catch {
    return 'an error that cannot be shown';
  }
}

/** Returns false if the file cannot be written. */
export function writeReport(path: string, report: ErrorReport): boolean {
  try {
    writeFileSync(`${path}.part`, JSON.stringify(report), { mode: 0o600 });
    renameSync(`${path}.part`, path);
    return true;
  } catch {
    return false;
  }
}

/** Undefined if the process ended without a report. */
export function readReport(path: string): ErrorReport | undefined {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as ErrorReport;
  } catch {
    return undefined;
  }
}
