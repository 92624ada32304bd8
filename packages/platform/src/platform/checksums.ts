// By its default: Node.js before 20.15 has no crc32, and would end at the import of this file.
import zlib from 'node:zlib';

const FAST = { level: zlib.constants.Z_BEST_SPEED };

/** The CRC-32 of bytes that follow those of `before` (ISO 3309). */
export function crc32(bytes: Uint8Array, before = 0): number {
  return zlib.crc32(bytes, before);
}

/** Data in zlib's format (RFC 1950), fast rather than small. */
export function deflate(bytes: Uint8Array): Uint8Array {
  return zlib.deflateSync(bytes, FAST);
}

/** As {@link deflate}, beside the program. */
export function deflateAside(bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    zlib.deflate(bytes, FAST, (error, data) => (error ? reject(error) : resolve(data)));
  });
}
