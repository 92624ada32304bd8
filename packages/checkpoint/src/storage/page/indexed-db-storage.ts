import type { Storage } from '@acc/contract';
import { resolve } from '@acc/platform';
import { itemsOf } from '../content.js';
import { namesOf } from '../keys.js';
import { attempt } from './errors.js';
import { inDatabase } from './indexed-db.js';
import { readBlob } from './read-blob.js';

/** Above every character of a key. */
const AFTER = '\uffff';

/**
 * Objects in a database of the page's origin (IndexedDB), below `folder`. `put` is one transaction.
 * The content of objects is not in the page's memory.
 */
export function indexedDbStorage(folder: string): Storage {
  const base = resolve('/', folder).slice(1);
  const location = `indexeddb://${base}`;
  const prefix = base === '' ? '' : `${base}/`;
  const pathOf = (key: string) => prefix + namesOf(key, location).join('/');
  return {
    location,
    put: (key, content) =>
      attempt(`Writing ${location}/${key}`, async () => {
        const parts: Blob[] = [];
        // A blob takes a copy, so the memory of an item may be used again.
        for await (const item of itemsOf(content)) parts.push(new Blob([item as Uint8Array<ArrayBuffer>]));
        const blob = new Blob(parts);
        await inDatabase('readwrite', (store) => store.put(blob, pathOf(key)));
      }),
    get: (key, options = {}) =>
      attempt(`Reading ${location}/${key}`, async () => {
        const blob = await inDatabase<Blob | undefined>('readonly', (store) => store.get(pathOf(key)));
        if (!blob) throw new DOMException('there is none', 'NotFoundError');
        return readBlob(blob, options, `Reading ${location}/${key}`);
      }),
    list: (keys) =>
      attempt(`Listing ${location}/${keys}`, async () => {
        const from = prefix + keys;
        const range = IDBKeyRange.bound(from, from + AFTER);
        // Both requests are in one transaction, so they see the same objects in the same order.
        let blobs: IDBRequest<Blob[]> | undefined;
        const paths = await inDatabase<IDBValidKey[]>('readonly', (store) => {
          blobs = store.getAll(range) as IDBRequest<Blob[]>;
          return store.getAllKeys(range);
        });
        return paths!.map((path, i) => ({
          key: (path as string).slice(prefix.length),
          bytes: blobs!.result[i]!.size,
        }));
      }),
    delete: (keys) =>
      attempt(`Deleting in ${location}`, async () => {
        const paths = keys.map(pathOf);
        if (paths.length === 0) return;
        await inDatabase<undefined>('readwrite', (store) => {
          for (const path of paths) store.delete(path);
          return undefined;
        });
      }),
  };
}
