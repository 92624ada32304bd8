import { AccError, isAccError } from '@acc/contract';

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

const HELP: Readonly<Record<string, string>> = {
  ACC_STORAGE_FULL: 'Free space (`df -h` and `quota` show what is left), or keep fewer checkpoints.',
  ACC_STORAGE_DENIED:
    'Choose a folder or bucket that this user may write to. For a bucket, check the credentials.',
};

/** Converts the error of a system call to an error of {@link Storage}. */
export function storageError(doing: string, cause: unknown): AccError {
  if (isAccError(cause)) return cause;
  const { code: systemCode, message } = cause as NodeJS.ErrnoException;
  return storageErrorOf(CODES[systemCode ?? ''] ?? 'ACC_STORAGE_FAILED', doing, message, cause);
}

export function storageErrorOf(code: string, doing: string, reason: string, cause: unknown): AccError {
  const help = HELP[code];
  return new AccError(code, `${doing} failed: ${reason}.`, { cause, ...(help && { help }) });
}
