import { AccError } from '@acc/contract';
import { mkdirSync } from 'node:fs';
import fs from 'node:fs/promises';

const MIB = 1024 * 1024;

/** Creates a folder in the cache, including its parents. */
export function makeCacheFolder(path: string): string {
  try {
    mkdirSync(path, { recursive: true });
  } catch (error) {
    throw asDiskError(error, path);
  }
  return path;
}

/**
 * Converts the error of a full or unwritable disk to an AccError, `ACC_DISK_FULL` or
 * `ACC_CACHE_NOT_WRITABLE`. Returns other errors unchanged.
 */
export function asDiskError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException | undefined)?.code ?? '';
  if (['ENOSPC', 'EDQUOT'].includes(code)) return diskFull(path, error);
  if (['EACCES', 'EPERM', 'EROFS', 'ENOTDIR'].includes(code)) {
    return new AccError('ACC_CACHE_NOT_WRITABLE', `Cannot write to ${path} (${code}).`, {
      help: 'Set ACC_CACHE_DIR to a folder that you can write to.',
      cause: error,
      details: { path },
    });
  }
  return error;
}

/** Converts the error of a folder that cannot be read to `ACC_CACHE_NOT_READABLE`. Returns others unchanged. */
export function asReadError(error: unknown, path: string): unknown {
  const code = (error as NodeJS.ErrnoException).code ?? '';
  if (!['EACCES', 'EPERM'].includes(code)) return error;
  return new AccError('ACC_CACHE_NOT_READABLE', `Cannot read ${path} (${code}).`, {
    help: 'Let this user read it, or set ACC_CACHE_DIR to a folder of this user.',
    cause: error,
    details: { path },
  });
}

/** `ACC_DISK_FULL` for a failed write under `path`. */
export function diskFull(path: string, cause?: unknown): AccError {
  return new AccError('ACC_DISK_FULL', `The disk that holds ${path} is full.`, {
    help: 'Free about 1 GB, or set ACC_CACHE_DIR to a folder on another disk.',
    cause,
    details: { path },
  });
}

/**
 * Throws before a download if the disk does not have enough space.
 *
 * @param bytes The number of bytes needed in `path`, an existing folder.
 * @throws AccError `ACC_DISK_FULL`.
 */
export async function requireFreeSpace(path: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await fs.statfs(path);
  const free = bavail * bsize;
  if (free >= bytes) return;
  throw new AccError(
    'ACC_DISK_FULL',
    `${path} needs ${Math.ceil(bytes / MIB)} MiB of free space, but has ${Math.floor(free / MIB)} MiB.`,
    {
      help: 'Free some space, or set ACC_CACHE_DIR to a folder on another disk.',
      details: { path, bytes, free },
    },
  );
}
