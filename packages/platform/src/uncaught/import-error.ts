import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { excerptOf } from './excerpt.js';
import { stepForImport, type SaidOfImport } from './import-steps.js';
import { modulesOf } from './program-modules.js';

/** The text on the screen for an import that Node.js refuses, whose own frames are all of Node.js. */
export interface WrongImport {
  /** The path of the importing file in the message, and the source that it was compiled from. */
  readonly importer: string;
  readonly source: string;
  /** The line of the import, and a caret below it. Empty: its place is not known. */
  readonly excerpt: readonly string[];
  /** The place of the import as a frame. */
  readonly frame: string;
  readonly step: string | undefined;
}

const IMPORTED_FROM = / imported from (.+)$/m;
const NAMED = /^\w[\w ]* (['"])(.+?)\1/;
const SCHEME = /^Only URLs with a scheme in: .* Received protocol '(.+)'$/;
const UNKNOWN_EXTENSION = /^Unknown file extension "[^"]*" for (.+)$/;
const ATTRIBUTE = /^Module "([^"]+)" (?:needs an import attribute|is not of type)/;
/** Node.js names no module if an attribute has a value that it does not know. */
const ATTRIBUTE_VALUE = /^Import attribute (?:type|"(\w+)" with value) "([^"]+)" is (?:un|not )supported/;
/** The attributes after what a statement imports. */
const WITH = /^\s*(?:with|assert)\s*\{([^}]*)\}/;
const NO_EXPORT = /^The requested module '(.+?)' does not provide an export named '(.+?)'/;
const NO_NAMED_EXPORT = /^Named export '(.+?)' not found\. The requested module '(.+?)' is a CommonJS module/;
const REQUIRED = /^Cannot find module '(.+?)'\nRequire stack:\n- (.+)$/m;
/** An import, or the `from` of one. The groups: what precedes, the names, the quote, what it imports. */
const IMPORT =
  /(\b(?:import|export)\b\s*(?:type\s+)?([^'"();]*?)\bfrom\s*|\bimport\s*\(?\s*|\brequire\s*\(\s*)(['"])([^'"\n]+)\3/g;
const SOURCE_MAP = /\/\/# sourceMappingURL=data:application\/json;base64,(\S+)/g;
/** The folder of compiled programs. */
const COMPILED = /[\\/]node_modules[\\/]\.cache[\\/]acc[\\/]/;

/** Undefined if the error is another one, or if the importing file is not found. */
export function wrongImport(error: Error): WrongImport | undefined {
  try {
    const said = whatIsSaid(error);
    return said && atItsPlace(error, said);
  } catch {
    // The error itself must be shown, whatever files and folders do.
    return undefined;
  }
}

function whatIsSaid(error: Error): SaidOfImport | undefined {
  const { message } = error;
  const { code } = error as NodeJS.ErrnoException;
  if (error.name === 'SyntaxError') {
    const [, specifier, name] = NO_EXPORT.exec(message) ?? [];
    if (specifier !== undefined) return { code, message, name: specifier, missing: name };
    const [, named, module] = NO_NAMED_EXPORT.exec(message) ?? [];
    return module === undefined ? undefined : { code, message, name: module, missing: named };
  }
  const [, required, by] = REQUIRED.exec(message) ?? [];
  if (code === 'MODULE_NOT_FOUND' && required !== undefined)
    return { code, message, name: required, importer: by };
  if (!code?.startsWith('ERR_')) return undefined;
  const importer = IMPORTED_FROM.exec(message)?.[1];
  if (importer !== undefined) return { code, message, name: NAMED.exec(message)?.[2] ?? '', importer };
  const scheme = SCHEME.exec(message)?.[1];
  if (scheme !== undefined) return { code, message, name: scheme };
  const [, key = 'type', value] = ATTRIBUTE_VALUE.exec(message) ?? [];
  if (value !== undefined) return { code, message, name: '', attribute: [key, value] };
  const file = UNKNOWN_EXTENSION.exec(message)?.[1] ?? ATTRIBUTE.exec(message)?.[1];
  if (file === undefined) return undefined;
  return { code, message, name: file.startsWith('file:') ? fileURLToPath(file) : file };
}

function atItsPlace(error: Error, said: SaidOfImport): WrongImport | undefined {
  const importer = said.importer ?? importerOf(said);
  if (importer === undefined) return undefined;
  const source = sourceOf(importer);
  const place = placeOf(said, source);
  const step = String(error.stack).includes('Did you mean')
    ? undefined
    : stepForImport(said, source, place?.specifier);
  return {
    ...{ importer, source },
    excerpt: place ? excerptOf(place.text, place.column) : [],
    frame: `    at ${source}${place ? `:${place.line}:${place.column + 1}` : ''}`,
    step: step && `→ ${step}`,
  };
}

/** The module of the program that has the import. */
function importerOf(said: SaidOfImport): string | undefined {
  const [, program] = process.argv;
  if (program === undefined || !existsSync(program)) return undefined;
  return modulesOf(program)
    .map((url) => fileURLToPath(url))
    .find((path) => placeOf(said, path) !== undefined);
}

/** The file that the program's author wrote: a compiled one names it in its source map. */
function sourceOf(file: string): string {
  if (!COMPILED.test(file)) return file;
  const [, map] = [...readFileSync(file, 'utf8').matchAll(SOURCE_MAP)].at(-1) ?? [];
  const { sources } = JSON.parse(Buffer.from(map ?? '', 'base64').toString()) as { sources: string[] };
  const found = sources.map((source) => resolve(dirname(file), source)).filter((path) => existsSync(path));
  return found.find((path) => basename(file).includes(basename(path))) ?? found[0] ?? file;
}

/** The place of an import. */
interface Place {
  /** From 1. */
  readonly line: number;
  /** From 0. */
  readonly column: number;
  /** The whole line. */
  readonly text: string;
  readonly specifier: string;
}

/** The place of the import in its file, or that of the export that it names. Undefined if its name is computed. */
function placeOf(said: SaidOfImport, file: string): Place | undefined {
  const text = readFileSync(file, 'utf8');
  for (const match of text.matchAll(IMPORT)) {
    const [, before = '', names = '', , specifier = ''] = match;
    const isIt = said.attribute
      ? hasAttribute(text.slice(match.index + match[0].length), said.attribute)
      : isMeant(specifier, said.name, file);
    if (!isIt) continue;
    const inNames = said.missing === undefined ? -1 : offsetOf(said.missing, before, names);
    if (said.missing !== undefined && inNames < 0) continue;
    const lines = text.slice(0, match.index + (inNames < 0 ? before.length : inNames)).split('\n');
    const line = lines.length;
    return { line, column: lines.at(-1)!.length, text: text.split('\n')[line - 1]!, specifier };
  }
  return undefined;
}

/** Whether the text after what a statement imports has an attribute. */
function hasAttribute(text: string, [key, value]: readonly [string, string]): boolean {
  const [, attributes = ''] = WITH.exec(text) ?? [];
  const words = attributes.split(/[\s:,'"]+/);
  return words.some((word, i) => word === key && words[i + 1] === value);
}

/** The offset of an imported name in the part of the statement before what it imports. */
function offsetOf(name: string, before: string, names: string): number {
  // A default import has a name of the importing file.
  const pattern = name === 'default' ? '^[\\w$]|(?<![\\w$])default(?![\\w$])' : wordPattern(name);
  const found = new RegExp(pattern).exec(names);
  return found ? before.indexOf(names) + found.index : -1;
}

const wordPattern = (name: string): string => `(?<![\\w$])${name.replaceAll('$', '\\$')}(?![\\w$])`;

function isMeant(specifier: string, name: string, file: string): boolean {
  const isPart = name.endsWith(':') ? specifier.startsWith(name) : specifier.startsWith(`${name}/`);
  if (specifier === name || isPart) return true;
  if (name.startsWith('./')) return specifier.endsWith(name.slice(1));
  const stem = (path: string): string => path.replace(/\.[cm]?[jt]sx?$/, '');
  return specifier.startsWith('.') && stem(resolve(dirname(file), specifier)) === stem(name);
}
