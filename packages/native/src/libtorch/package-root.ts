import { AccError } from '@acc/contract';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * The folder of the installed @acc/native: the nearest one above this module, which is either
 * source or built.
 *
 * @throws AccError `ACC_ADDON_MISSING` if this code was bundled into another package, away from its
 * addon.
 */
export function packageRoot(): string {
  const start = dirname(fileURLToPath(import.meta.url));
  for (let folder = start; ; folder = dirname(folder)) {
    const manifest = join(folder, 'package.json');
    if (existsSync(manifest) && readManifest(manifest).name === '@acc/native') return folder;
    if (folder === dirname(folder)) break;
  }
  throw new AccError('ACC_ADDON_MISSING', `@acc/native's code runs from ${start}, outside its package.`, {
    help: 'Mark @acc/native as external in your bundler. It loads native files from its package folder.',
  });
}

/** Name and version of a `package.json`. */
export function readManifest(path: string): { readonly name?: string; readonly version?: string } {
  return JSON.parse(readFileSync(path, 'utf8')) as { name?: string; version?: string };
}
