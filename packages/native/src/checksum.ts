import { addon } from './addon.js';
import { converted, guarded } from './errors.js';

/** Whether {@link checksum} can be called: Node's zlib is where the addon finds it. */
export function hasChecksum(): boolean {
  return addon().hasChecksum();
}

/** The CRC-32 (zlib's) of bytes, which stay as they are meanwhile. Another thread computes it. */
export function checksum(bytes: Uint8Array): Promise<number> {
  return converted(guarded(() => addon().checksum(bytes)));
}
