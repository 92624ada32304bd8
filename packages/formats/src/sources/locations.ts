import { existsSync } from 'node:fs';
import { isAbsolute } from 'node:path';
import { AccError } from '@acc/contract';
import { expand } from 'brace-expansion';
import { glob, isDynamicPattern } from 'tinyglobby';
import { notFound } from '../errors.js';
import { pathOf, schemeOf } from './open-source.js';
import { matchingObjects } from './s3-source.js';
import type { SourceOptions } from './source.js';

/**
 * Files of a dataset: a path, an address (`https://`, `http://`, `s3://`, `file://`) or a list of them. Paths and keys of buckets may have
 * wildcards (`data/*.tar`). Paths and addresses may have ranges and alternatives: `data-{000..007}.tar`, `{a,b}.csv`.
 */
export type Locations = string | URL | readonly (string | URL)[];

/**
 * The files that are meant, in the order of the list. The files of a wildcard are sorted by their names.
 *
 * @throws AccError `ACC_DATA_NOT_FOUND` if a pattern matches no file; `ACC_INVALID_ARGUMENT` if there is no file, or
 * one is named twice.
 */
export async function resolveLocations(locations: Locations, options: SourceOptions = {}): Promise<string[]> {
  const given = (Array.isArray(locations) ? locations : [locations]).map(String);
  const found: string[] = [];
  for (const pattern of given.flatMap(expandBraces)) found.push(...(await filesOf(pattern, options)));
  if (found.length === 0)
    throw new AccError('ACC_INVALID_ARGUMENT', 'A dataset needs at least one file.', {
      help: "Name a file, a list of files or a pattern such as 'data/*.parquet'.",
    });
  const twice = found.find((location, i) => found.indexOf(location) !== i);
  if (twice === undefined) return found;
  throw new AccError('ACC_INVALID_ARGUMENT', `The file ${twice} is named twice.`, {
    help: 'Its samples would come twice in each epoch. Use weightedSampler for that.',
  });
}

function expandBraces(location: string): string[] {
  return existsSync(location) ? [location] : expand(location);
}

async function filesOf(pattern: string, options: SourceOptions): Promise<string[]> {
  const scheme = schemeOf(pattern);
  if (scheme === 'http') return [withoutWildcard(pattern)];
  if (scheme === 's3')
    return /[*?]/.test(pattern) ? some(await matchingObjects(pattern, options), pattern) : [pattern];
  const path = pathOf(pattern);
  if (!isDynamicPattern(path) || existsSync(path)) return [path];
  const found = await glob(path, { absolute: isAbsolute(path), expandDirectories: false, dot: false });
  return some(found.sort(), path);
}

function some(found: string[], pattern: string): string[] {
  if (found.length > 0) return found;
  throw notFound(
    `No file matches ${pattern}`,
    'Check the path. Relative paths start at the working directory.',
  );
}

function withoutWildcard(address: string): string {
  if (!new URL(address).pathname.includes('*')) return address;
  throw notFound(
    `${address} has a wildcard, and servers do not list files`,
    "Name the files: 'data-{000..007}.tar'.",
  );
}
