import { AccError, type Storage } from '@acc/contract';
import { basename, dirname, hasOpfs, settleFiles } from '@acc/platform';
import { memoryStorage, offer, zipOf } from '../storage/page/download.js';
import { indexedDbStorage } from '../storage/page/indexed-db-storage.js';
import { opfsStorage } from '../storage/page/opfs-storage.js';
import { pathIn, schemeOf } from '../storage/schemes.js';
import type { ModelTarget } from './storages.js';

export { indexedDbStorage, opfsStorage };

/** The files of a page are those of its origin. */
export const fileStorage = opfsStorage;

/**
 * The storage that a path names: `opfs://…` and `indexeddb://…`. Other paths are in OPFS, or in
 * IndexedDB where the page has no OPFS.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` for `downloads://`, which cannot be read.
 */
export function storageAt(path: string): Storage {
  const inside = pathIn(path);
  switch (schemeOf(path) ?? (hasOpfs() ? 'opfs' : 'indexeddb')) {
    case 'indexeddb':
      return indexedDbStorage(inside);
    case 'downloads':
      throw new AccError('ACC_INVALID_ARGUMENT', `${path}: only saveModel writes a download.`, {
        help: 'Save the run to opfs:// or indexeddb://, and give that path to download().',
      });
    default:
      return opfsStorage(inside);
  }
}

/** Where `saveModel` writes a model. `downloads://name` becomes the download `name.zip`. */
export function modelTargetAt(path: string): ModelTarget {
  if (schemeOf(path) !== 'downloads') return { storage: storageAt(path), finish: () => Promise.resolve() };
  const storage = memoryStorage(path);
  return { storage, finish: async () => offer(await zipOf(storage, ''), `${basename(path)}.zip`) };
}

/**
 * Gives files of the page to the browser as a download: a file under its own name, a folder as one
 * zip file.
 *
 * @param path As for `saveState`: a path in OPFS, `opfs://…` or `indexeddb://…`.
 * @throws AccError `ACC_STORAGE_NOT_FOUND`.
 */
export async function download(path: string): Promise<void> {
  await settleFiles();
  const parent = storageAt(dirname(path));
  const name = basename(path);
  const isFile = (await parent.list('')).some(({ key }) => key === name);
  const blob = isFile
    ? new Blob([(await parent.get(name)) as Uint8Array<ArrayBuffer>])
    : await zipOf(parent, `${name}/`);
  offer(blob, isFile ? name : `${name}.zip`);
}
