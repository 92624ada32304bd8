import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { isRecord } from '@acc/contract';

const DECLARED = /\bexport\s+(?:async\s+)?(?:const|let|var|function\s*\*?|class)\s+([\w$]+)/g;
const LISTED = /\bexport\s*\{([^}]*)\}/g;
const PASSED_ON = /\bexport\s*\*\s*from\s*(['"])([^'"\n]+)\1/g;
/** A CommonJS module that passes on what others export. */
const PASSES_ON = /\bObject\.keys\(\w+\)\.forEach\(/;
const REQUIRED = /\brequire\((['"])([^'"\n]+)\1\)/g;
const OF_COMMONJS = /\bexports\.([\w$]+)\s*=|\bdefineProperty\(exports,\s*['"]([\w$]+)/g;
const CONDITIONS = ['node', 'import', 'module', 'default'];
const MOST_FILES = 50;

/**
 * The names that a module exports, as far as its text shows them. It is read and not run, because it may be
 * the program itself.
 *
 * @param specifier As in the import.
 * @param importer The path of the importing file.
 */
export function exportsOf(specifier: string, importer: string): readonly string[] {
  const first = fileOf(specifier, importer);
  const files = new Set(first === undefined ? [] : [first]);
  const names = new Set<string>();
  for (const file of files) {
    const text = readFileSync(file, 'utf8');
    for (const name of namesIn(text)) names.add(name);
    const others = [...text.matchAll(PASSED_ON), ...(PASSES_ON.test(text) ? text.matchAll(REQUIRED) : [])];
    for (const [, , other] of others) {
      const next = fileOf(other!, file);
      if (next !== undefined && files.size < MOST_FILES) files.add(next);
    }
  }
  return [...names].filter((name) => name !== 'default' && name !== '__esModule');
}

function namesIn(text: string): string[] {
  const declared = Array.from(text.matchAll(DECLARED), ([, name]) => name!);
  const listed = Array.from(text.matchAll(LISTED)).flatMap(([, list]) =>
    list!.split(',').map((item) =>
      item
        .trim()
        .split(/\s+as\s+|\s+/)
        .at(-1)!,
    ),
  );
  const ofCommonJs = Array.from(text.matchAll(OF_COMMONJS), ([, name, defined]) => name ?? defined!);
  return [...declared, ...listed, ...ofCommonJs].filter((name) => /^[\w$]+$/.test(name));
}

function fileOf(specifier: string, importer: string): string | undefined {
  if (specifier.startsWith('.')) {
    const path = resolve(dirname(importer), specifier);
    return existsSync(path) ? path : undefined;
  }
  const [, name, rest] = /^((?:@[^/]+\/)?[^/]+)(\/.*)?$/.exec(specifier) ?? [];
  const folder = name === undefined ? undefined : folderOf(name, dirname(importer));
  if (folder === undefined) return undefined;
  const manifest = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Record<string, unknown>;
  const exported = isRecord(manifest['exports'])
    ? (manifest['exports'] as Record<string, unknown>)
    : undefined;
  const entry = exported
    ? targetOf(exported[`.${rest ?? ''}`] ?? (rest === undefined ? exported : undefined))
    : (rest ?? manifest['main'] ?? manifest['module'] ?? 'index.js');
  const path = typeof entry === 'string' ? join(folder, entry) : undefined;
  return path !== undefined && existsSync(path) ? path : undefined;
}

function folderOf(name: string, folder: string): string | undefined {
  const path = join(folder, 'node_modules', name);
  if (existsSync(join(path, 'package.json'))) return realpathSync(path);
  return dirname(folder) === folder ? undefined : folderOf(name, dirname(folder));
}

/** The file that the conditions of an import choose. */
function targetOf(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (!isRecord(target)) return undefined;
  const chosen = Object.entries(target).find(([condition]) => CONDITIONS.includes(condition));
  return chosen && targetOf(chosen[1]);
}
