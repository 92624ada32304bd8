import { readFileSync, realpathSync, statSync } from 'node:fs';
import { createRequire, isBuiltin } from 'node:module';
import { dirname, extname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { init, parse } from 'cjs-module-lexer';
import { nearestPackage, placesUpwards } from './nearest.js';

const PACKAGE_NAME = /^(@[^/]+\/)?[^/.][^/]*$/;
/** Smaller files cost Node.js almost no time. */
const LARGE_BYTES = 2 ** 17;
/** From Node.js 23 on, a CommonJS module also has the export `module.exports`. */
const NAMES_MODULE_EXPORTS = parseInt(process.versions.node) >= 23;

/**
 * Writes an ES module with the exports of a large CommonJS package.
 *
 * Node.js finds the export names of such a package by reading its whole text, and that of all files
 * that it re-exports, in each process. For tfjs this takes 0.3 s. Here the names are found once for
 * all processes.
 *
 * @param program The path from which the package is resolved.
 * @param seen Receives the paths of all files that determine the module, including paths at which a
 * file would change it.
 * @returns Undefined for packages that are small, not CommonJS, or resolved by export conditions,
 * which a process may set.
 */
export async function commonJsFacade(
  specifier: string,
  program: string,
  seen: Set<string>,
): Promise<string | undefined> {
  const file = largeCommonJsFile(specifier, program, seen);
  if (file === undefined) return undefined;
  await init();
  const files = new Map<string, Set<string>>();
  const names = exportedNames(file, files);
  for (const path of files.keys()) seen.add(path);
  if (!names) return undefined;
  const others = NAMES_MODULE_EXPORTS ? ['default', 'module.exports'] : ['default'];
  const list = [...names].filter((name) => !others.includes(name));
  return [
    "import { createRequire } from 'node:module';",
    `const cjs = createRequire(${JSON.stringify(pathToFileURL(program).href)})(${JSON.stringify(specifier)});`,
    // The same semantics as exports of Node.js.
    'const get = (name) => (Object.hasOwn(cjs, name) ? cjs[name] : undefined);',
    'export default cjs;',
    ...(NAMES_MODULE_EXPORTS ? ["export { cjs as 'module.exports' };"] : []),
    ...list.map((name, i) => `const e${i} = get(${JSON.stringify(name)});`),
    `export { ${list.map((name, i) => `e${i} as ${JSON.stringify(name)}`).join(', ')} };\n`,
  ].join('\n');
}

/**
 * The file that an import resolves to, if `require` resolves to the same file under all conditions.
 */
function largeCommonJsFile(specifier: string, program: string, seen: Set<string>): string | undefined {
  if (!PACKAGE_NAME.test(specifier) || isBuiltin(specifier)) return undefined;
  for (const folder of placesUpwards(dirname(program), 'node_modules'))
    seen.add(join(folder, specifier, 'package.json'));
  let file: string;
  try {
    file = realpathSync(createRequire(program).resolve(specifier));
  } catch {
    // Node.js will report the error.
    return undefined;
  }
  seen.add(file);
  const { type = 'commonjs', exports } = nearestPackage(file) ?? {};
  if (exports !== undefined || type !== 'commonjs' || !['.js', '.cjs'].includes(extname(file)))
    return undefined;
  return statSync(file).size < LARGE_BYTES ? undefined : file;
}

/** The export names, found with the same lexer as in Node.js. Undefined for an ES module. */
function exportedNames(file: string, seen: Map<string, Set<string>>): ReadonlySet<string> | undefined {
  const known = seen.get(file);
  if (known) return known;
  const names = new Set<string>();
  // Set before the recursion, for cycles.
  seen.set(file, names);
  let found: ReturnType<typeof parse>;
  try {
    found = parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
  for (const name of found.exports) names.add(name);
  for (const reexport of found.reexports) {
    for (const name of namesPassedOn(reexport, file, seen)) names.add(name);
  }
  return names;
}

function namesPassedOn(specifier: string, file: string, seen: Map<string, Set<string>>): Iterable<string> {
  let target: string;
  try {
    target = createRequire(file).resolve(specifier);
  } catch {
    return [];
  }
  return ['.js', '.cjs'].includes(extname(target)) ? (exportedNames(target, seen) ?? []) : [];
}
