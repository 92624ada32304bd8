import { AccError, type Storage } from '@acc/contract';
import { fileStorage } from '../storage/file-storage.js';
import { schemeOf } from '../storage/schemes.js';

export { fileStorage };

/** A place for the files of a model, and what happens when all are there. */
export interface ModelTarget {
  readonly storage: Storage;
  finish(): Promise<void>;
}

/**
 * The storage that a path names.
 *
 * @throws AccError `ACC_BROWSER_ONLY` for the storages of a page.
 */
export function storageAt(path: string): Storage {
  const scheme = schemeOf(path);
  if (scheme !== undefined) throw onlyInBrowser(`${scheme}://`);
  return fileStorage(path);
}

/** Where `saveModel` writes a model. @throws AccError as {@link storageAt}. */
export function modelTargetAt(path: string): ModelTarget {
  return { storage: storageAt(path), finish: () => Promise.resolve() };
}

/** @throws AccError `ACC_BROWSER_ONLY`. */
export function opfsStorage(_folder: string): Storage {
  throw onlyInBrowser('opfsStorage');
}

/** @throws AccError `ACC_BROWSER_ONLY`. */
export function indexedDbStorage(_folder: string): Storage {
  throw onlyInBrowser('indexedDbStorage');
}

/** @throws AccError `ACC_BROWSER_ONLY`. */
export function download(_path: string): Promise<void> {
  return Promise.reject(onlyInBrowser('download'));
}

function onlyInBrowser(what: string): AccError {
  return new AccError('ACC_BROWSER_ONLY', `${what} is for pages in a browser. This is Node.js.`, {
    help: 'Give the path of a folder, or a storage such as s3Storage.',
  });
}
