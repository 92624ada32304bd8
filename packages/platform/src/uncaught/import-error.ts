import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, parse, relative, resolve } from 'node:path';
import { nearestName } from '@acc/contract';

/** The text on the screen for an import that Node.js cannot resolve, whose own frames are all of Node.js. */
export interface WrongImport {
  /** The path of the importing file in the message, and the source that it was compiled from. */
  readonly importer: string;
  readonly source: string;
  /** The place of the import as a frame. */
  readonly frame: string;
  readonly step: string | undefined;
}

const IMPORTED_FROM = / imported from (.+)$/m;
const NAMED = /^\w[\w ]* '([^']+)'/;
/** An import, or the `from` of one. The last group is what it imports. */
const IMPORT = /(\b(?:from|import)\s*\(?\s*)(['"])([^'"\n]+)\2/g;
const SOURCE_MAP = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)/g;
/** The folder of compiled programs. */
const COMPILED = /[\\/]node_modules[\\/]\.cache[\\/]acc[\\/]/;

/** Undefined if the error is another one, or if the importing file is not there. */
export function wrongImport(error: Error): WrongImport | undefined {
  const { code } = error as NodeJS.ErrnoException;
  const importer = IMPORTED_FROM.exec(error.message)?.[1];
  if (importer === undefined || !code?.startsWith('ERR_')) return undefined;
  try {
    const source = sourceOf(importer);
    const name = NAMED.exec(error.message)?.[1] ?? '';
    const place = placeOf(name, source);
    const step = String(error.stack).includes('Did you mean') ? undefined : stepFor(code, name, source);
    return { importer, source, frame: `    at ${source}${place}`, step: step && `→ ${step}` };
  } catch {
    // The error itself must be shown, whatever files and folders do.
    return undefined;
  }
}

/** The file that the program's author wrote: a compiled one names it in its source map. */
function sourceOf(file: string): string {
  if (!COMPILED.test(file)) return file;
  const [, map] = [...readFileSync(file, 'utf8').matchAll(SOURCE_MAP)].at(-1) ?? [];
  const { sources } = JSON.parse(Buffer.from(map ?? '', 'base64').toString()) as { sources: string[] };
  const found = sources.map((source) => resolve(dirname(file), source)).filter((path) => existsSync(path));
  return found.find((path) => basename(file).includes(basename(path))) ?? found[0] ?? file;
}

/** The line and the column of the import in its file. '' if its name is computed. */
function placeOf(name: string, file: string): string {
  const text = readFileSync(file, 'utf8');
  for (const match of text.matchAll(IMPORT)) {
    const [, before, , specifier] = match;
    if (!isMeant(specifier!, name, file)) continue;
    const lines = text.slice(0, match.index + before!.length).split('\n');
    return `:${lines.length}:${lines.at(-1)!.length + 1}`;
  }
  return '';
}

/** @param name As Node.js names it: a package, a path in a package, or the absolute path of a file. */
function isMeant(specifier: string, name: string, file: string): boolean {
  if (specifier === name || specifier.startsWith(`${name}/`)) return true;
  if (name.startsWith('./')) return specifier.endsWith(name.slice(1));
  const stem = (path: string): string => path.replace(/\.[cm]?[jt]sx?$/, '');
  return specifier.startsWith('.') && stem(resolve(dirname(file), specifier)) === stem(name);
}

function stepFor(code: string, name: string, importer: string): string | undefined {
  if (code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')
    return 'Import only what the package exports: its package.json lists that below "exports".';
  if (code === 'ERR_UNSUPPORTED_DIR_IMPORT') return 'Name the file in the folder.';
  if (code !== 'ERR_MODULE_NOT_FOUND') return undefined;
  return resolve(name) === name ? aboutFile(name, importer) : aboutPackage(name, importer);
}

function aboutFile(path: string, importer: string): string {
  const folder = dirname(path);
  const names = existsSync(folder) ? readdirSync(folder) : [];
  const alike = names.find((other) => parse(other).name === parse(path).name);
  const nearest = alike ?? nearestName(basename(path), names);
  if (nearest === undefined)
    return "Check the path: it starts at the importing file's folder, and ends with the file's extension.";
  const meant = relative(dirname(importer), join(folder, nearest)).replaceAll('\\', '/');
  return `Did you mean '${meant.startsWith('.') ? meant : `./${meant}`}'?`;
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
