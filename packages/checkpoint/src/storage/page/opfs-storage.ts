import type { Storage, StoredObject } from '@acc/contract';
import { AccError } from '@acc/contract';
import { filesBelow, isAbsent, noteFile, opfsFolder, opfsRoot, resolve, writeOpfsFile } from '@acc/platform';
import { itemsOf } from '../content.js';
import { namesOf } from '../keys.js';
import { UNFINISHED } from '../unfinished.js';
import { attempt } from './errors.js';
import { readBlob } from './read-blob.js';

/**
 * Files in the private file system of the page's origin (OPFS), below `folder`. `put` writes a file
 * beside its final place and moves it there.
 */
export function opfsStorage(folder: string): Storage {
  const prefix = resolve('/', folder);
  const location = `opfs:/${prefix}`;
  const base = prefix === '/' ? '' : prefix;
  /** The folder of a key's file, and the name of the file. */
  const placeOf = async (key: string, create: boolean) => {
    const names = namesOf(key, location);
    const at = [base, ...names.slice(0, -1)].join('/');
    return { folder: await opfsFolder(await requireRoot(), at, create), name: names.at(-1)! };
  };
  return {
    location,
    put: (key, content) =>
      attempt(`Writing ${location}/${key}`, async () => {
        const { folder: parent, name } = await placeOf(key, true);
        noteFile(`${base}/${key}`, await putFile(parent!, name, content));
      }),
    get: (key, options = {}) =>
      attempt(`Reading ${location}/${key}`, async () => {
        const { folder: parent, name } = await placeOf(key, false);
        if (!parent) throw new DOMException('its folder is missing', 'NotFoundError');
        const file = await (await parent.getFileHandle(name)).getFile();
        return readBlob(file, options, `Reading ${location}/${key}`);
      }),
    list: (keys) =>
      attempt(`Listing ${location}/${keys}`, async () => {
        const found = await filesBelow(await requireRoot(), `${base}/${keys}`.replace(/\/+$/, '') || '/');
        return objectsOf(found, base.length + 1);
      }),
    delete: (keys) =>
      attempt(`Deleting in ${location}`, async () => {
        for (const key of keys) {
          const { folder: parent, name } = await placeOf(key, false);
          if (parent) await removed(parent, name);
          noteFile(`${base}/${key}`, undefined);
        }
        await removeEmptyFolders(base, keys, location);
      }),
  };
}

async function requireRoot(): Promise<FileSystemDirectoryHandle> {
  const root = await opfsRoot();
  if (root) return root;
  throw new AccError(
    'ACC_STORAGE_DENIED',
    'This page has no private file system (OPFS), or must not use it.',
    {
      help: "Serve the page by https or from localhost, or use checkpoint: { dir: 'indexeddb://name' }.",
    },
  );
}

/** Writes beside the final place and moves there, so that a file under its name is whole. */
async function putFile(
  folder: FileSystemDirectoryHandle,
  name: string,
  content: Uint8Array | AsyncIterable<Uint8Array>,
): Promise<number> {
  const unfinished = name + UNFINISHED;
  try {
    const handle = await writeOpfsFile(folder, unfinished, async (stream) => {
      for await (const item of itemsOf(content)) await stream.write(item as Uint8Array<ArrayBuffer>);
    });
    const { size } = await handle.getFile();
    await (handle as MovableHandle).move(folder, name);
    return size;
  } catch (error) {
    await removed(folder, unfinished).catch(() => {});
    throw error;
  }
}

/** All browsers with this file system move files in it. TypeScript does not know the method yet. */
interface MovableHandle extends FileSystemFileHandle {
  /** Replaces a file of that name. Safari takes no fewer arguments than these two. */
  move(folder: FileSystemDirectoryHandle, name: string): Promise<void>;
}

async function removed(folder: FileSystemDirectoryHandle, name: string): Promise<void> {
  await folder.removeEntry(name).catch((error: unknown) => {
    if (!isAbsent(error)) throw error;
  });
}

async function objectsOf(
  found: Awaited<ReturnType<typeof filesBelow>>,
  skipped: number,
): Promise<StoredObject[]> {
  const objects = found.map(async ({ path, file }) => {
    try {
      return file && { key: path.slice(skipped), bytes: (await file.getFile()).size };
    } catch (error) {
      // The file was deleted after its folder was read.
      if (isAbsent(error)) return undefined;
      throw error;
    }
  });
  return (await Promise.all(objects)).filter((object) => object !== undefined);
}

/** Removes the folders of deleted files that are empty now. */
async function removeEmptyFolders(base: string, keys: readonly string[], location: string): Promise<void> {
  const root = await requireRoot();
  const parents = new Set(keys.map((key) => namesOf(key, location).slice(0, -1).join('/')));
  for (const parent of parents) {
    const names = parent.split('/').filter(Boolean);
    const name = names.pop();
    const around = name && (await opfsFolder(root, [base, ...names].join('/'), false));
    if (!around) continue;
    await around.removeEntry(name).catch((error: unknown) => {
      const { name: reason } = error as DOMException;
      if (reason !== 'InvalidModificationError' && !isAbsent(error)) throw error;
    });
  }
}
