import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The root of the repository. */
export const root = join(import.meta.dirname, '..', '..', '..');

const NOT_OURS = new Set([
  ...['node_modules', 'dist', 'build', 'coverage', 'results'],
  ...['.git', '.turbo', '.venv', '.generated'],
]);

/**
 * The files below a folder, by path from the root, sorted.
 *
 * @param extensions The extensions of the files, for example `.ts`.
 */
export function filesUnder(folder: string, extensions: readonly string[]): string[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return NOT_OURS.has(entry.name) ? [] : filesUnder(path, extensions);
      return extensions.some((extension) => entry.name.endsWith(extension)) ? [path] : [];
    })
    .sort();
}

export function readText(path: string): string {
  return readFileSync(join(root, path), 'utf8');
}

/** Whether the file is a test, or only used by tests. */
export function isForTests(path: string): boolean {
  return /\.test\.m?[jt]s$|\/testing\/|\/fixtures\/|\/test-support\.ts$|^tests\//.test(path);
}

export interface Manifest {
  readonly name: string;
  readonly private?: boolean;
  readonly bin?: Readonly<Record<string, string>>;
  readonly exports?: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly sideEffects?: boolean | readonly string[];
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly devDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

export interface Workspace {
  /** The path from the root: `packages/core`. */
  readonly folder: string;
  readonly manifest: Manifest;
}

/** All packages. */
export const packages: readonly Workspace[] = workspacesIn('packages');
/** The packages that users install. */
export const publishedPackages = packages.filter(({ manifest }) => manifest.private !== true);
/** The packages that the tarballs of others contain. */
export const privatePackages = packages.filter(({ manifest }) => manifest.private === true);
/** The packages that exist only in the repository. */
export const programs: readonly Workspace[] = [...workspacesIn('examples'), workspace('bench')];

function workspacesIn(folder: string): Workspace[] {
  return readdirSync(join(root, folder), { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && existsSync(join(root, folder, entry.name, 'package.json')))
    .map(({ name }) => workspace(`${folder}/${name}`));
}

function workspace(folder: string): Workspace {
  return { folder, manifest: JSON.parse(readText(`${folder}/package.json`)) as Manifest };
}

/** The TypeScript files of a package, including tests. */
export function sourcesOf({ folder }: Workspace): string[] {
  return filesUnder(`${folder}/src`, ['.ts']);
}

/** The commands that npm links for a package. */
export function runnablesOf({ folder, manifest }: Workspace): string[] {
  return Object.values(manifest.bin ?? {}).map((path) => join(folder, path));
}
