import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The nearest folder `node_modules` in a file's folder or above it. */
export function nearestNodeModules(path: string): string | undefined {
  return findUpwards(dirname(path), 'node_modules', (found) => statSync(found).isDirectory());
}

/** The parts of a package.json that say how its files are modules. */
export interface PackageJson {
  readonly name?: string;
  readonly type?: string;
  readonly exports?: unknown;
}

/** The nearest package.json in a file's folder or above it; undefined where it is no JSON, as Node then says in its own words. */
export function nearestPackage(path: string): PackageJson | undefined {
  const found = findUpwards(dirname(path), 'package.json', () => true);
  if (found === undefined) return undefined;
  try {
    return JSON.parse(readFileSync(found, 'utf8')) as PackageJson;
  } catch {
    return undefined;
  }
}

/** The paths at which the nearest file of a name may be, nearest first, for a file that lies in `folder`. */
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
