import { existsSync, readFileSync, statSync } from 'node:fs';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Paths of other modules of the program. What is no import does no harm: it must be a file. */
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*(['"])(\.{1,2}\/[^'"\n]+)\1/g;
const MODULE = /\.(?:[cm]?[jt]s|tsx)$/;
const MOST_FILES = 500;

/** The addresses of a program and of all modules that it imports by relative paths. */
export function modulesOf(program: string): readonly string[] {
  const urls = new Set([pathToFileURL(program).href]);
  for (const url of urls) {
    for (const [, , path] of readFileSync(fileURLToPath(url), 'utf8').matchAll(IMPORT)) {
      const next = new URL(path!, url);
      if (urls.size < MOST_FILES && isModule(next)) urls.add(next.href);
    }
  }
  return [...urls];
}

function isModule(url: URL): boolean {
  return MODULE.test(url.pathname) && existsSync(url) && statSync(url).isFile();
}
