// The sources of the packages in the checkout, each read once.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { lineStartsOf, type Source } from '../record/positions.js';
import { keyOf, unitsOf } from './units.js';

/** Whether units of a file are recorded: TypeScript of a package that is no test. */
export const isSource = (path: string): boolean =>
  /^packages\/[^/]+\/src\/.*\.ts$/.test(path) && !/\.test\.ts$|\.d\.ts$/.test(path);

export interface Sources {
  /** Undefined if the file does not exist or is no source. */
  source(path: string): Source | undefined;
  /** The keys of its functions. */
  keysOf(path: string): readonly string[] | undefined;
}

export function sourcesIn(root: string): Sources {
  const read = new Map<string, Source | undefined>();
  const source = (path: string): Source | undefined => {
    if (!read.has(path)) read.set(path, readSource(root, path));
    return read.get(path);
  };
  return { source, keysOf: (path) => source(path)?.functions.map(keyOf) };
}

function readSource(root: string, path: string): Source | undefined {
  if (!isSource(path) || !existsSync(join(root, path))) return undefined;
  const text = readFileSync(join(root, path), 'utf8');
  return { path, lineStarts: lineStartsOf(text), functions: unitsOf(path, text).functions };
}

const LEFT_OUT = new Set(['node_modules', 'dist', 'build', '.venv', '.generated', 'results']);

/** The files below a folder, by path from the root, sorted. */
export function filesBelow(root: string, folder: string): string[] {
  if (!existsSync(join(root, folder))) return [];
  return readdirSync(join(root, folder), { withFileTypes: true })
    .flatMap((entry) => {
      const path = `${folder}/${entry.name}`;
      if (entry.isDirectory()) return LEFT_OUT.has(entry.name) ? [] : filesBelow(root, path);
      return [path];
    })
    .sort();
}
