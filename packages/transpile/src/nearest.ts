import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The nearest `node_modules` folder, in the folder of a file or above it. */
export function nearestNodeModules(path: string): string | undefined {
  return findUpwards(dirname(path), 'node_modules', (found) => statSync(found).isDirectory());
}

/** The fields of a package.json that determine the module format of its files. */
export interface PackageJson {
  readonly name?: string;
  readonly type?: string;
  readonly exports?: unknown;
}

/**
 * The nearest package.json, in the folder of a file or above it. Undefined if it is not valid JSON,
 * which Node.js then reports.
 */
export function nearestPackage(path: string): PackageJson | undefined {
  const found = findUpwards(dirname(path), 'package.json', () => true);
  if (found === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(found, 'utf8')) as PackageJson;
  } catch {
    return undefined;
  }
}

/** The possible paths of a file with this name in `folder` and above it, nearest first. */
export function placesUpwards(folder: string, name: string): string[] {
  const parent = dirname(folder);
  return [join(folder, name), ...(parent === folder ? [] : placesUpwards(parent, name))];
}

function findUpwards(folder: string, name: string, isRight: (path: string) => boolean): string | undefined {
  const path = join(folder, name);
  if (existsSync(path) && isRight(path)) return path;
  const parent = dirname(folder);
  return parent === folder ? undefined : findUpwards(parent, name, isRight);
}
