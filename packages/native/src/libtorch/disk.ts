import { AccError } from '@acc/contract';
import { mkdirSync } from 'node:fs';
import { statfs } from 'node:fs/promises';

const MIB = 1024 * 1024;

/** Creates a folder in the cache, with its parents. */
export function makeCacheFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw asDiskError(error, path);
  }
  return path;
}

/**
 * Turns a full or unwritable disk into an AccError, `ACC_DISK_FULL` or `ACC_CACHE_NOT_WRITABLE`, and gives
 * everything else back as it is.
 */
export function asDiskError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (['ENOSPC', 'EDQUOT'].includes(code)) return diskFull(path, error);
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(code)) {
    return new AccError('ACC_CACHE_NOT_WRITABLE', `Can't write to ${path} (${code}).`, {
      help: 'Set ACC_CACHE_DIR to a folder that you may write to.',
      cause: error,
      details: { path },
    });
  }
  return error;
}

/** `ACC_DISK_FULL` for a write that failed under `path`. */
export function diskFull(path: string, cause?: unknown): AccError {
  return new AccError('ACC_DISK_FULL', `The disk that holds ${path} is full.`, {
    help: 'Free about 1 GB, or set ACC_CACHE_DIR to a folder on another disk.',
    cause,
    details: { path },
  });
}

/**
 * Refuses to start what can't end: better before the download than after.
 *
 * @param bytes Needed below `path`, an existing folder.
 * @throws AccError `ACC_DISK_FULL`.
 */
export async function requireFreeSpace(path: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(path);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new AccError(
    'ACC_DISK_FULL',
    `${Math.ceil(bytes / MIB)} MiB are needed in ${path}, and ${Math.floor(free / MIB)} MiB are free.`,
    {
      help: 'Free some space, or set ACC_CACHE_DIR to a folder on another disk.',
      details: { path, bytes, free },
    },
  );
}
