import { isAccError, type AccError } from '@acc/contract';
import { storageErrorOf } from '@acc/platform';

const CODES: Readonly<Record<string, string>> = {
  ENOENT: 'ACC_STORAGE_NOT_FOUND',
  ENOTDIR: 'ACC_STORAGE_NOT_FOUND',
  ENOSPC: 'ACC_STORAGE_FULL',
  EDQUOT: 'ACC_STORAGE_FULL',
  EFBIG: 'ACC_STORAGE_FULL',
  EACCES: 'ACC_STORAGE_DENIED',
  EPERM: 'ACC_STORAGE_DENIED',
  EROFS: 'ACC_STORAGE_DENIED',
};

/** Converts the error of a system call to an error of {@link Storage}. */
export function storageError(doing: string, cause: unknown): AccError {
  if (isAccError(cause)) return cause;
  const { code: systemCode, message } = cause as NodeJS.ErrnoException;
  return storageErrorOf(CODES[systemCode ?? ''] ?? 'ACC_STORAGE_FAILED', doing, message, cause);
}
