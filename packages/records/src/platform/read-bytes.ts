import { readFileSync } from 'node:fs';

/** The content of a file. */
export function readBytes(path: string): Uint8Array {
  return readFileSync(path);
}
