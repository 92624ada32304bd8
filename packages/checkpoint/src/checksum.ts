import { crc32 } from 'node:zlib';
import type { StateLayer } from '@acc/contract';

/** Below that, handing over to another thread takes longer. */
const SMALL_BYTES = 64 * 1024;

/** The CRC-32 of bytes, computed elsewhere where the backend can and it is worth it. */
export async function checksumOf(bytes: Uint8Array, layer?: StateLayer): Promise<number> {
  if (layer?.checksum && bytes.length > SMALL_BYTES) return layer.checksum(bytes);
  return crc32(bytes);
}
