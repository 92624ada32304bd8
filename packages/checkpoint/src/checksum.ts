import type { StateLayer } from '@acc/contract';
import { crc32 } from '@acc/platform';

/** Below this size, passing the work to another thread takes longer than computing it here. */
const SMALL_BYTES = 64 * 1024;

/**
 * The CRC-32 of bytes. Large arrays are computed on another thread if the backend supports that.
 */
export async function checksumOf(bytes: Uint8Array, layer?: StateLayer): Promise<number> {
  if (layer?.checksum && bytes.length > SMALL_BYTES) return layer.checksum(bytes);
  return crc32(bytes);
}
