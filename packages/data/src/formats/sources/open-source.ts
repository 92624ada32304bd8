import { fileURLToPath } from 'node:url';
import { fileSource, lookAtFile } from './file-source.js';
import { httpSource, lookAtAddress } from './http-source.js';
import type { Source, SourceState } from './source.js';

type Scheme = 'file' | 'http';

/** Where a location is: a path, or an address that begins with `https://`, `http://` or `file://`. */
export function schemeOf(location: string): Scheme {
  return /^https?:\/\//.test(location) ? 'http' : 'file';
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
export async function openSource(location: string): Promise<Source> {
  return sourceOf(await lookAt(location));
}

function lookAt(location: string): Promise<SourceState> {
  return schemeOf(location) === 'http' ? lookAtAddress(location) : lookAtFile(pathOf(location));
}

/** Opens a file that is known, without a request. */
export function sourceOf(state: SourceState): Source {
  if (schemeOf(state.location) === 'http') return httpSource(state);
  return fileSource({ ...state, location: pathOf(state.location) });
}
