import { fileURLToPath } from 'node:url';
import { fileSource, lookAtFile } from './file-source.js';
import { httpSource, lookAtAddress } from './http-source.js';
import { lookAtObject, s3Source } from './s3-source.js';
import type { Source, SourceOptions, SourceState } from './source.js';

type Scheme = 'file' | 'http' | 's3';

/** Where a location is: a path, or an address that begins with `https://`, `http://`, `s3://` or `file://`. */
export function schemeOf(location: string): Scheme {
  if (/^https?:\/\//.test(location)) return 'http';
  return location.startsWith('s3://') ? 's3' : 'file';
}

/** The path of a local file whose location may be a `file://` address. */
export function pathOf(location: string): string {
  return location.startsWith('file://') ? fileURLToPath(location) : location;
}

/**
 * Looks at a file, and opens it.
 *
 * @throws AccError `ACC_DATA_NOT_FOUND`, `ACC_DATA_READ`, `ACC_DATA_RANGES` (a web server without ranges).
 */
export async function openSource(location: string, { s3, http }: SourceOptions = {}): Promise<Source> {
  const scheme = schemeOf(location);
  if (scheme === 'http') return httpSource(await lookAtAddress(location, http));
  if (scheme === 's3') return s3Source(await lookAtObject(location, { s3, http }));
  return fileSource(await lookAtFile(pathOf(location)));
}

/** Opens a file that is known, without a request. */
export function sourceOf(state: SourceState): Source {
  const scheme = schemeOf(state.location);
  if (scheme === 'http') return httpSource(state);
  return scheme === 's3' ? s3Source(state) : fileSource(state);
}
