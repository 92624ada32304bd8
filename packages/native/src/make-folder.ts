import { mkdirSync } from 'node:fs';
import { resolve } from 'node:path';

/** Makes a folder if it is missing, and returns its absolute path. */
export function makeFolder(folder: string): string {
  const at = resolve(folder);
  mkdirSync(at, { recursive: true });
  return at;
}
