const SCHEME = /^(opfs|indexeddb|downloads):\/\//;

/** The storage of a page that a path names: `opfs`, `indexeddb` or `downloads`. */
export function schemeOf(path: string): string | undefined {
  return SCHEME.exec(path)?.[1];
}

/** The path without its scheme, from the root. */
export function pathIn(path: string): string {
  return path.replace(SCHEME, '/');
}
