import * as distances from 'fastest-levenshtein';

/** Bundled: a page cannot load a module synchronously. */
export function levenshtein(): typeof import('fastest-levenshtein') {
  return distances;
}
