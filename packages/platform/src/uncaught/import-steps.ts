import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, extname, join, parse, relative, resolve } from 'node:path';
import { nearestName } from '@acc/contract';
import { exportsOf } from './module-exports.js';

/** The facts that a message of Node.js has about an import. */
export interface SaidOfImport {
  readonly code: string | undefined;
  readonly message: string;
  /** As Node.js names it: a specifier, a package, a path in a package, or the absolute path of a file. */
  readonly name: string;
  /** The export that is not there. */
  readonly missing?: string | undefined;
  /** The name and the value of an attribute that Node.js does not know. */
  readonly attribute?: readonly [string, string] | undefined;
  /** The importing file. Undefined: the message does not name it. */
  readonly importer?: string | undefined;
}

/** The number of exports that are named. */
const MOST_NAMES = 8;
const INDEX = /^index\.(?:[cm]?[jt]s|tsx)$/;

/**
 * The next step for an import that Node.js refuses.
 *
 * @param importer The path of the importing file.
 * @param specifier What it imports, as it says. Undefined if that is computed.
 */
export function stepForImport(
  { code, message, name, missing, attribute }: SaidOfImport,
  importer: string,
  specifier = name,
): string | undefined {
  if (attribute) return "Write with { type: 'json' } for a JSON file. A program has no attribute.";
  if (missing !== undefined) return aboutExport({ message, missing }, specifier, importer);
  switch (code) {
    case 'ERR_PACKAGE_PATH_NOT_EXPORTED':
      return 'Import only what the package exports: its package.json lists that below "exports".';
    case 'ERR_PACKAGE_IMPORT_NOT_DEFINED':
      return `Name it below "imports" in package.json, or import the file by its path.`;
    case 'ERR_UNSUPPORTED_ESM_URL_SCHEME':
      return 'Node.js imports files and packages: download the module, or install its package.';
    case 'ERR_UNSUPPORTED_DIR_IMPORT':
      return aboutFolder(name, importer);
    case 'ERR_UNKNOWN_FILE_EXTENSION':
      return aboutExtension(extname(name), specifier);
    case 'ERR_MODULE_NOT_FOUND':
    case 'MODULE_NOT_FOUND':
      return isPath(name)
        ? aboutFile(resolve(dirname(importer), name), importer)
        : aboutPackage(name, importer);
    default:
      if (message.includes('is not of type')) return 'Leave "with { type: … }" out, or correct the type.';
      return message.includes('import attribute')
        ? `Write: import data from '${specifier}' with { type: 'json' };`
        : undefined;
  }
}

const isPath = (name: string): boolean => name.startsWith('.') || resolve(name) === name;

function aboutExport(
  { message, missing }: { readonly message: string; readonly missing: string },
  specifier: string,
  importer: string,
): string {
  const names = exportsOf(specifier, importer);
  // All letters of a short name may be edits of another one.
  const mostEdits = Math.min(Math.max(2, Math.floor(missing.length / 2)), missing.length - 1);
  const nearest = missing === 'default' ? undefined : nearestName(missing, names, () => mostEdits);
  if (nearest !== undefined) return `Did you mean '${nearest}'?`;
  if (message.includes('CommonJS module'))
    return `If it exports ${missing}: import all from '${specifier}'; const { ${missing} } = all;`;
  const shown = names.slice(0, MOST_NAMES).join(', ');
  const list = names.length > MOST_NAMES ? `${shown} and ${names.length - MOST_NAMES} more` : shown;
  if (missing === 'default')
    return `It has no default export. Import by name: import { ${names.slice(0, 2).join(', ') || 'name'} } from '${specifier}'`;
  return names.length > 0 ? `It exports ${list}.` : `Check what '${specifier}' exports.`;
}

function aboutFolder(path: string, importer: string): string {
  const index = existsSync(path) ? readdirSync(path).find((name) => INDEX.test(name)) : undefined;
  return index === undefined
    ? 'Name the file in the folder.'
    : `Name the file in the folder: '${fromFile(importer, join(path, index))}'`;
}

function aboutExtension(extension: string, specifier: string): string {
  if (/^\.[cm]?ts$/.test(extension))
    return 'Start the program with npx acc launch, which compiles TypeScript.';
  if (/^\.[jt]sx$/.test(extension))
    return 'Name it .tsx, and start the program with npx acc launch, which compiles it.';
  return `Node.js imports programs only. Read the file: readFileSync(new URL('${specifier}', import.meta.url), 'utf8')`;
}

function aboutFile(path: string, importer: string): string {
  const folder = dirname(path);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const alike = names.find((other) => parse(other).name === parse(path).name && isFile(join(folder, other)));
  const nearest = alike ?? nearestName(basename(path), names);
  return nearest === undefined
    ? "Check the path: it starts at the importing file's folder, and ends with the file's extension."
    : `Did you mean '${fromFile(importer, join(folder, nearest))}'?`;
}

const isFile = (path: string): boolean => existsSync(path) && statSync(path).isFile();

/** The specifier by which a file imports another one. */
function fromFile(importer: string, path: string): string {
  const meant = relative(dirname(importer), path).replaceAll('\\', '/');
  return meant.startsWith('.') ? meant : `./${meant}`;
}

/** A package that the project does not name may be another one, so that no step advises to install it. */
function aboutPackage(name: string, importer: string): string {
  const names = dependenciesOf(dirname(importer));
  if (names.includes(name))
    return `package.json names '${name}'. Install the project's packages: npm install`;
  const nearest = nearestName(name, names);
  return nearest
    ? `Did you mean '${nearest}'?`
    : `Check the name: no package.json of this project has it. If it is right, add it with your package manager.`;
}

/** The packages that the `package.json` files of a folder and those above it name. */
function dependenciesOf(folder: string): string[] {
  const path = join(folder, 'package.json');
  const own = existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as Record<string, object>) : {};
  const kinds = ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies'];
  const names = kinds.flatMap((kind) => Object.keys(own[kind] ?? {}));
  return dirname(folder) === folder ? names : [...names, ...dependenciesOf(dirname(folder))];
}
