import { dirname, join } from 'node:path';
import { nearestManifest } from '../nearest.js';

/** Whether the package of a file lets others import the file by a name. */
export function isExported(path: string): boolean {
  const manifest = nearestManifest(path);
  const exports = manifest?.content.exports;
  if (!manifest || exports === undefined) return true;
  const folder = dirname(manifest.path);
  return targetsOf(exports).some((target) => matches(path, join(folder, target)));
}

/** All paths in `exports`, under all names and conditions. */
function targetsOf(exports: unknown): string[] {
  if (typeof exports === 'string') return [exports];
  return exports === null ? [] : Object.values(exports as object).flatMap(targetsOf);
}

function matches(path: string, target: string): boolean {
  const [start, end] = target.split('*', 2);
  return end === undefined ? path === target : path.startsWith(start!) && path.endsWith(end);
}
