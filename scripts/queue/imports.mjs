// Which modules a module loads: its imports, read from its text, and theirs. Reading all tests and
// all sources takes a fifth of a second, so vitest's configuration can ask.
// tests/architecture/test-projects.test.ts compares the imports with those of TypeScript's parser.
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from '../process.mjs';

/** The text between `import` and the quote contains no quote and no semicolon, as prettier writes. */
const STATIC = /^(?:import|export)\s+(?!type\s)(?:[^'"`;]*?\sfrom\s+)?'([^']+)';/gm;
const DYNAMIC = /(?<!typeof )\bimport\(\s*'([^']+)'/g;

/** The specifiers that a text imports, static and dynamic, without those of types. */
export function specifiersIn(text) {
  const found = new Set();
  for (const [, specifier] of text.matchAll(STATIC)) found.add(specifier);
  for (const [, specifier] of text.matchAll(DYNAMIC)) found.add(specifier);
  return [...found];
}

/**
 * A reader of imports that reads each file once.
 *
 * @returns {{reached: (file: string) => Set<string>}} reached: the files that a file loads, itself
 * included, by their paths from the root, and the packages of others, as `@tensorflow/tfjs-core`.
 */
export function importGraph() {
  const manifests = new Map();
  const edges = new Map();
  const importsOf = (file) => {
    if (!edges.has(file)) edges.set(file, readImports(file, manifests));
    return edges.get(file);
  };
  const reached = (file) => {
    const seen = new Set([file]);
    for (const each of seen) for (const next of importsOf(each)) seen.add(next);
    return seen;
  };
  return { importsOf, reached };
}

function readImports(file, manifests) {
  const path = join(root, file);
  if (!/\.m?[jt]s$/.test(file) || !existsSync(path)) return [];
  return specifiersIn(readFileSync(path, 'utf8')).map((specifier) => resolve(specifier, file, manifests));
}

function resolve(specifier, from, manifests) {
  if (specifier.startsWith('.')) return sourceOf(join(dirname(from), specifier));
  if (specifier.startsWith('#')) return inPackage(packageFolder(from), 'imports', specifier, manifests);
  const name = specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
  const folder = folderOf(name);
  if (!folder || !existsSync(join(root, folder))) return name;
  return inPackage(folder, 'exports', `.${specifier.slice(name.length)}`, manifests);
}

/** `./a.js` names a.ts, if there is one. */
function sourceOf(path) {
  const source = path.replace(/\.(m?)js$/, '.$1ts');
  return existsSync(join(root, source)) ? source : path;
}

const packageFolder = (file) => file.split('/', 2).join('/');

/** The folder of one of our packages. */
function folderOf(name) {
  const [, folder] = /^(?:@acc\/)?((?<=@acc\/).+|(?:acc|create-acc)-.+)$/.exec(name) ?? [];
  return folder && `packages/${folder}`;
}

/** The source file that a package's manifest names for an export or an own import. */
function inPackage(folder, field, key, manifests) {
  if (!manifests.has(folder))
    manifests.set(folder, JSON.parse(readFileSync(join(root, folder, 'package.json'), 'utf8')));
  const table = manifests.get(folder)[field] ?? {};
  for (const [pattern, target] of Object.entries(table)) {
    const [start, end] = pattern.split('*');
    if (pattern !== key && (end === undefined || !key.startsWith(start) || !key.endsWith(end))) continue;
    const source = target['@acc/source'] ?? target;
    const path = source.default ?? source;
    return join(folder, path.replace('*', end === undefined ? '' : key.slice(start.length)));
  }
  throw new Error(`${folder}/package.json: ${field} has no '${key}', which a file imports`);
}
