import { fileStorage } from './storage/file-storage.js';
import type { Storage } from '@acc/contract';

/** One checkpoint's place. */
export interface Location {
  readonly storage: Storage;
  /** What its keys begin with: empty, or a name and a slash. */
  readonly prefix: string;
}

/** For messages. */
export function describeLocation({ storage, prefix }: Location): string {
  return prefix === '' ? storage.location : `${storage.location}/${prefix.slice(0, -1)}`;
}

/** @param path A folder; within `storage`, where one is given, the beginning of keys. */
export function locationOf(path: string, storage: Storage | undefined): Location {
  if (!storage) return { storage: fileStorage(path), prefix: '' };
  const name = path.replace(/^\/+|\/+$/g, '');
  return { storage, prefix: name === '' || name === '.' ? '' : `${name}/` };
}
