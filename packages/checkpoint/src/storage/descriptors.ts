import { AccError } from '@acc/contract';
import { sleep } from '@acc/platform';

/** The waits between attempts, in milliseconds: about 10 s together. */
const WAITS_MS: readonly number[] = [20, 40, 80, 160, 320, 640, ...Array<number>(9).fill(1_000)];

/**
 * Opens a file or a folder. While all file descriptors of the process or of the system are in use,
 * it tries again, because others are often closed within moments.
 *
 * @param doing The start of a message.
 * @throws AccError `ACC_STORAGE_FAILED` if none was free after all waits; other errors of `open` at
 * once.
 */
export async function whenDescriptorIsFree<T>(
  doing: string,
  open: () => Promise<T>,
  waitsMs: readonly number[] = WAITS_MS,
): Promise<T> {
  for (const waitMs of waitsMs) {
    try {
      return await open();
    } catch (error) {
      if (!isWithoutDescriptor(error)) throw error;
      await sleep(waitMs);
    }
  }
  try {
    return await open();
  } catch (cause) {
    throw isWithoutDescriptor(cause) ? noneFree(doing, waitsMs, cause) : cause;
  }
}

function isWithoutDescriptor(error: unknown): error is Error {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EMFILE' || code === 'ENFILE';
}

function noneFree(doing: string, waitsMs: readonly number[], cause: Error): AccError {
  const waitedMs = waitsMs.reduce((sum, ms) => sum + ms, 0);
  return new AccError(
    'ACC_STORAGE_FAILED',
    `${doing} failed: no file descriptor was free in ${waitsMs.length + 1} attempts over ${waitedMs / 1_000} s: ${cause.message}.`,
    {
      help: 'Raise the limit of open files (`ulimit -n`), or find what keeps files or connections open (`ls -l /proc/<pid>/fd`).',
      cause,
    },
  );
}
