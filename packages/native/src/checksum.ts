import { addon } from './addon.js';
import { keepInThread } from './buffers-of-memory.js';
import { converted, guarded } from './errors.js';

/** Whether {@link checksum} is available, that is, whether the addon finds zlib in Node.js. */
export function hasChecksum(): boolean {
  return addon().hasChecksum();
}

/**
 * Computes the CRC-32 of bytes on another thread, with zlib. The bytes must not change meanwhile.
 * From now on their buffer cannot be given to another thread: the memory could be freed while it is read.
 */
export function checksum(bytes: Uint8Array): Promise<number> {
  keepInThread(bytes.buffer);
  return converted(guarded(() => addon().checksum(bytes)));
}
