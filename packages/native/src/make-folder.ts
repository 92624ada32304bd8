import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';
import { AccError } from '@acc/contract';

/**
 * Makes a folder if it is missing, and returns its absolute path.
 *
 * @throws AccError `ACC_STORAGE_DENIED` if it cannot be made.
 */
export function makeFolder(folder: string): string {
  const at = resolve(folder);
  try {
    mkdirSync(at, { recursive: true });
  } catch (error) {
    throw new AccError('ACC_STORAGE_DENIED', `The folder ${at} cannot be made: ${String(error)}`, {
      help: 'Give a folder on a local disk that this process may write.',
      details: { folder: at },
      cause: error,
    });
  }
  return at;
}
