import { storageAt } from '#platform/storages';
import type { Storage } from '@acc/contract';

/** The place of one checkpoint. */
export interface Location {
  readonly storage: Storage;
  /** The prefix of its keys: empty, or a name and a slash. */
  readonly prefix: string;
}

/** The location as text for messages. */
export function describeLocation({ storage, prefix }: Location): string {
  return prefix === '' ? storage.location : `${storage.location}/${prefix.slice(0, -1)}`;
}

/**
 * @param path A folder, or a storage of a page: `opfs://…`, `indexeddb://…`. With `storage`, a prefix
 * of keys.
 */
export function locationOf(path: string, storage: Storage | undefined): Location {
  if (!storage) return { storage: storageAt(path), prefix: '' };
  const name = path.replace(/^\/+|\/+$/g, '');
  return { storage, prefix: name === '' || name === '.' ? '' : `${name}/` };
}
