import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';

export interface FoundPackage {
  readonly name: string;
  readonly version: string;
  readonly path: string;
}

export interface Missing {
  readonly what: string;
  /** The command or change that solves the problem. */
  readonly mend: string;
}

/** Finds packages like Node.js does: in each `node_modules` folder from `cwd` upwards. */
export function findPackages(cwd: string, names: readonly string[]): FoundPackage[] {
  const { resolve } = createRequire(join(cwd, 'program.js'));
  return names.flatMap((name): FoundPackage[] => {
    const path = (resolve.paths(name) ?? [])
      .map((folder) => join(folder, name))
      .find((folder) => existsSync(join(folder, 'package.json')));
    if (!path) return [];
    const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version: string };
    return [{ name, version, path }];
  });
}
