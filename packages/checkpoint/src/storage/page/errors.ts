import { isAccError, type AccError } from '@acc/contract';
import { storageErrorOf } from '@acc/platform';

const CODES: Readonly<Record<string, string>> = {
  NotFoundError: 'ACC_STORAGE_NOT_FOUND',
  TypeMismatchError: 'ACC_STORAGE_NOT_FOUND',
  QuotaExceededError: 'ACC_STORAGE_FULL',
  NotAllowedError: 'ACC_STORAGE_DENIED',
  SecurityError: 'ACC_STORAGE_DENIED',
  NoModificationAllowedError: 'ACC_STORAGE_DENIED',
};

/** Runs `work`. Errors of the browser become those of a storage. */
export async function attempt<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw pageStorageError(doing, error);
  }
}

function pageStorageError(doing: string, cause: unknown): Error {
  if (isAccError(cause)) return cause;
  // An error of the content that is put is the caller's own.
  if (!(cause instanceof DOMException)) return cause as Error;
  return storageErrorOf(CODES[cause.name] ?? 'ACC_STORAGE_FAILED', doing, cause.message, cause);
}

/** The error for a range that an object does not have. */
export function endsEarly(doing: string, bytes: number): AccError {
  return storageErrorOf('ACC_STORAGE_NOT_FOUND', doing, `the object ends at byte ${bytes}`, undefined);
}
