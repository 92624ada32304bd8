import { AccError } from '@acc/contract';

const HELP: Readonly<Record<string, string>> = {
  ACC_STORAGE_FULL:
    'Free space (`df -h` and `quota` show what is left), keep fewer checkpoints, or choose another folder.',
  ACC_STORAGE_DENIED:
    'Choose a folder or bucket that this user may write to. For a bucket, check the credentials.',
};

/** The error of a storage, with one of its codes. */
export function storageErrorOf(code: string, doing: string, reason: string, cause: unknown): AccError {
  const help = HELP[code] ?? 'Check the path, and that the disk or bucket can be reached.';
  return new AccError(code, `${doing} failed: ${reason}.`, { cause, help });
}
