import { createRequire } from 'node:module';

/** Loaded only for error messages. Every rank imports this package, and starts faster without it. */
export function levenshtein(): typeof import('fastest-levenshtein') {
  return createRequire(import.meta.url)('fastest-levenshtein') as typeof import('fastest-levenshtein');
}
