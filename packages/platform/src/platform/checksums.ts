import { constants, crc32 as ofNode, deflate as deflateOnThread, deflateSync } from 'node:zlib';

const FAST = { level: constants.Z_BEST_SPEED };

/** The CRC-32 of bytes that follow those of `before` (ISO 3309). */
export function crc32(bytes: Uint8Array, before = 0): number {
  return ofNode(bytes, before);
}

/** Data in zlib's format (RFC 1950), fast rather than small. */
export function deflate(bytes: Uint8Array): Uint8Array {
  return deflateSync(bytes, FAST);
}

/** As {@link deflate}, beside the program. */
export function deflateAside(bytes: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    deflateOnThread(bytes, FAST, (error, data) => (error ? reject(error) : resolve(data)));
  });
}
