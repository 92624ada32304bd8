import { inflateRawSync } from 'node:zlib';

/**
 * Inflates bytes. Blocks of live runs have few rows, and a stream would take longer for each than all else.
 *
 * @param most The bytes of the result, at most.
 * @returns The bytes; in a page, a promise of them.
 * @throws Error if they are more, or if the bytes are not deflated.
 */
export function inflate(bytes: Uint8Array, most: number): Uint8Array | Promise<Uint8Array> {
  // A copy: slices of a Buffer share its memory.
  return new Uint8Array(inflateRawSync(bytes, { maxOutputLength: most }));
}
