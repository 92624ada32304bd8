import { isDiskFull } from '#platform/process';
import { AccError, isAccError } from '@acc/contract';

/** The code of errors after which the same call may succeed later. */
export const UNAVAILABLE = 'ACC_TRACKER_UNAVAILABLE';

/** Whether the same call may succeed later. A full disk counts: a program may delete files. */
export function isUnavailable(error: unknown): boolean {
  return isAccError(error, UNAVAILABLE) || isDiskFull(error);
}

export function invalidValue(where: string, problem: string, help: string): AccError {
  return new AccError('ACC_INVALID_ARGUMENT', `${where}: ${problem}.`, { help });
}

/** The first line of an error's message, as a sentence. */
export function briefly(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const line = message.split('\n', 1)[0]!.slice(0, 300);
  return /[.!?]$/.test(line) ? line : `${line}.`;
}
