import { dirname } from '@acc/platform';

const SCHEME = /^(opfs|indexeddb|downloads):\/\//;

/** The storage of a page that a path names: `opfs`, `indexeddb` or `downloads`. */
export function schemeOf(path: string): string | undefined {
  return SCHEME.exec(path)?.[1];
}

/** The path without its scheme, from the root. */
export function pathIn(path: string): string {
  return path.replace(SCHEME, '/');
}

/** The folder of a path, with its scheme. */
export function parentOf(path: string): string {
  const scheme = schemeOf(path);
  return scheme === undefined ? dirname(path) : `${scheme}:/${dirname(pathIn(path))}`;
}
