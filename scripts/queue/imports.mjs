// Which modules a module loads: its imports, read from its text, and theirs. To read the unit tests
// and their sources takes a quarter of a second, so vitest's configuration can ask.
// tests/architecture/test-projects.test.ts compares the imports with those of TypeScript's parser.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../process.mjs';

/** The text between `import` and the quote contains no quote and no semicolon, as prettier writes. */
const STATIC = /^(?:import|export)\s+(?!type\s)(?:[^'"`;]*?\sfrom\s+)?['"]([^'"]+)['"];/gm;
const DYNAMIC = /(?<!typeof )\bimport\(\s*['"]([^'"]+)['"]/g;

/**
 * The specifiers that a text imports, static and dynamic, without those of types. Those of programs in
 * strings are among them.
 */
export function specifiersIn(text) {
  const found = new Set();
  for (const [, specifier] of text.matchAll(STATIC)) found.add(specifier);
  for (const [, specifier] of text.matchAll(DYNAMIC)) found.add(specifier);
  return [...found];
}

/**
 * A reader of imports that reads each file once. It gives files by their paths from the root, and
 * packages of others by their names, as `@tensorflow/tfjs-core`.
 *
 * @returns {{importsOf: (file: string) => string[], reached: (file: string) => Set<string>}} reached:
 * all that a file loads, itself included.
 */
export function importGraph() {
  const edges = new Map();
  const importsOf = (file) => {
    if (!edges.has(file)) edges.set(file, readImports(file));
    return edges.get(file);
  };
  const reached = (file) => {
    const seen = new Set([file]);
    for (const each of seen) for (const next of importsOf(each)) seen.add(next);
    return seen;
  };
  return { importsOf, reached };
}

function readImports(file) {
  const path = join(root, file);
  if (!/\.m?[jt]s$/.test(file) || !existsSync(path)) return [];
  return specifiersIn(readFileSync(path, 'utf8')).map((specifier) => resolveImport(specifier, file));
}

/**
 * The source that a file loads by a specifier, by its path from the root; for packages of others
 * their name.
 */
export function resolveImport(specifier, from) {
  if (specifier.startsWith('.')) return sourceOf(join(dirname(from), specifier));
  if (specifier.startsWith('#')) return inPackage(folderOfFile(from), 'imports', specifier);
  const name = packageOf(specifier);
  const folder = folderOfPackage(name);
  return folder ? inPackage(folder, 'exports', `.${specifier.slice(name.length)}`) : name;
}

/** `./a.js` names a.ts, if there is one. */
function sourceOf(path) {
  const source = path.replace(/\.(m?)js$/, '.$1ts');
  return existsSync(join(root, source)) ? source : path;
}

/** `packages/core` for a file of it. */
const folderOfFile = (file) => file.split('/', 2).join('/');

/** The package of a specifier: `@acc/kernels` for `@acc/kernels/register`. */
export const packageOf = (specifier) => specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');

/** The folder of one of our packages; undefined for others. */
export function folderOfPackage(name) {
  const folder = `packages/${name.replace(/^@acc\//, '')}`;
  return /^(@acc\/|acc-|create-acc-)/.test(name) && existsSync(join(root, folder)) ? folder : undefined;
}

/** Manifests that were read, by folder. */
const manifests = new Map();

/** The source file that a package's manifest names for an export or an import of its own. */
function inPackage(folder, field, key) {
  if (!manifests.has(folder))
    manifests.set(folder, JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')));
  for (const [pattern, target] of Object.entries(manifests.get(folder)[field] ?? {})) {
    const [start, end] = pattern.split('*');
    const isMatch = end === undefined ? pattern === key : key.startsWith(start) && key.endsWith(end);
    if (!isMatch) continue;
    const source = target['@acc/source'] ?? target;
    const part = end === undefined ? '' : key.slice(start.length, key.length - end.length);
    return join(folder, (source.default ?? source).replace('*', part));
  }
  throw new Error(`${folder}/package.json: ${field} has no '${key}', which a file imports`);
}
