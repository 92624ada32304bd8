// Checks the folder of a package before npm packs it.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

/** Sources for tests only, which are neither compiled nor packed. Relative to the package. */
export const FOR_TESTS = /^src\/(.*\.test\.ts|(.*\/)?test-support\.ts|(.*\/)?testing\/.*)$/;

/** All files of a folder of a package, relative to the package. */
function filesOf(folder, name) {
  const start = join(folder, name);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
}

/**
 * Compares a package's declarations with its sources.
 *
 * @returns {{missing: string[], stale: string[]}} missing: declarations of existing sources. stale:
 * declarations of deleted sources.
 */
export function declarationsOf(folder) {
  const expected = filesOf(folder, 'src')
    .filter((path) => path.endsWith('.ts') && !path.endsWith('.d.ts') && !FOR_TESTS.test(path))
    .map((path) => path.replace(/^src\//, 'dist/').replace(/ts$/, 'd.ts'))
    .flatMap((path) => [path, `${path}.map`]);
  const present = filesOf(folder, 'dist').filter((path) => /\.d\.ts(\.map)?$/.test(path));
  return {
    missing: expected.filter((path) => !present.includes(path)),
    stale: present.filter((path) => !expected.includes(path)),
  };
}

/** The files that the manifest names but that are missing: entry points, their types, commands. */
export function missingTargets(folder) {
  const { exports = {}, bin = {} } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const targets = (value) => (typeof value === 'string' ? [value] : Object.values(value).flatMap(targets));
  const paths = [...targets(exports), ...targets(bin)].map((path) => path.replace(/^\.\//, ''));
  return [...new Set(paths)].filter((path) => !existsSync(join(folder, path)));
}
