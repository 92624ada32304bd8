import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { modulesOf } from './program-modules.js';

/** The exit code of Node.js if a top-level await never settles. */
export const UNSETTLED_EXIT_CODE = 13;
/** An await of the module itself, as a formatter writes it: at the beginning of a statement that is not indented. */
const AWAIT = /^(?:export\s+)?(?:(?:const|let|var)\s[^=\n]*=\s*|[\w.$]+\s*=\s*)?(?:for\s+)?await\b/gm;
/** The number of places that are shown. */
const MOST_PLACES = 3;

/**
 * The text for a process whose program waits for a promise that nothing settles any more. Node.js does not
 * say which await it is, so the text has all of the program's own.
 *
 * @param program The path of the program.
 */
export function describeUnsettled(program: string | undefined): string {
  const places = program === undefined ? [] : placesIn(program);
  const more = places.length - MOST_PLACES;
  return [
    'A top-level await never settled: its promise neither resolves nor rejects.',
    '→ No timer, file or connection is left that could settle it. See that it resolves or rejects.',
    ...(places.length > 1 ? ['it is one of:'] : []),
    ...places.slice(0, MOST_PLACES),
    ...(more > 0 ? [`    … ${more} more`] : []),
  ].join('\n');
}

function placesIn(program: string): string[] {
  try {
    return modulesOf(program).flatMap((url) => awaitsIn(fileURLToPath(url)));
  } catch {
    // The text must be shown, whatever files do.
    return [];
  }
}

function awaitsIn(file: string): string[] {
  const text = readFileSync(file, 'utf8');
  const lines = text.split('\n');
  return Array.from(text.matchAll(AWAIT), ({ index }) => {
    const line = text.slice(0, index).split('\n').length;
    return `    at ${file}:${line}: ${lines[line - 1]!.trim().slice(0, 60)}`;
  });
}
