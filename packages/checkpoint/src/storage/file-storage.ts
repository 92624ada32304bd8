import type { Dirent } from 'node:fs';
import fs, { open, mkdir, readdir, rename, rm, rmdir, stat } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { AccError, type GetOptions, type Storage, type StoredObject } from '@acc/contract';
import { storageErrorOf } from '@acc/platform';
import { storageError } from './errors.js';
import { writeSynced } from './block-file.js';
import { whenDescriptorIsFree } from './descriptors.js';
import { UNFINISHED } from './unfinished.js';

/**
 * Files below `folder`, which need not exist yet. `put` writes a file beside its final place, syncs
 * it to the disk and renames it.
 */
export function fileStorage(folder: string): Storage {
  const root = resolve(folder);
  const inside = root.endsWith(sep) ? root : root + sep;
  const pathOf = (key: string): string => {
    const path = resolve(root, key);
    if (path.startsWith(inside)) return path;
    throw new AccError('ACC_STORAGE_DENIED', `'${key}' lies outside of ${root}.`, {
      help: "Use names of files below that folder, without '..'.",
    });
  };
  const attempt = async <T>(doing: string, work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw storageError(doing, error);
    }
  };
  return {
    location: root,
    put: (key, content) => attempt(`Writing ${join(root, key)}`, () => putFile(pathOf(key), content)),
    get: (key, options) => attempt(`Reading ${join(root, key)}`, () => getFile(pathOf(key), options)),
    pathOf: (key) => attempt(`Looking at ${join(root, key)}`, () => mappable(pathOf(key))),
    list: (prefix) => attempt(`Listing ${join(root, prefix)}`, () => listFiles(root, prefix)),
    delete: (keys) =>
      attempt(`Deleting in ${root}`, async () => {
        for (const key of keys) await rm(pathOf(key), { force: true });
        for (const parent of new Set(keys.map((key) => dirname(pathOf(key))))) {
          if (parent !== root) await removeEmpty(parent);
        }
      }),
  };
}

async function putFile(path: string, content: Uint8Array | AsyncIterable<Uint8Array>): Promise<void> {
  const unfinished = path + UNFINISHED;
  await createFile(unfinished);
  try {
    await (content instanceof Uint8Array
      ? writeSmall(unfinished, content)
      : writeSynced(unfinished, content));
    await rename(unfinished, path);
    await syncFolder(dirname(path));
  } catch (error) {
    await rm(unfinished, { force: true }).catch(() => {});
    throw error;
  }
}

async function writeSmall(path: string, content: Uint8Array): Promise<void> {
  const file = await whenDescriptorIsFree(`Writing ${path}`, () => open(path, 'w'));
  try {
    await file.writeFile(content);
    await file.sync();
  } finally {
    await file.close();
  }
}

/** How often a folder may go before a file is in it. */
const FOLDERS_LOST = 8;

/** Creates a file and its folder. Another process that deletes files removes folders that are empty. */
async function createFile(path: string): Promise<void> {
  for (let lost = 0; ; lost++) {
    try {
      await makeFolder(dirname(path));
      const file = await whenDescriptorIsFree(`Writing ${path}`, () => open(path, 'w'));
      return await file.close();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || lost === FOLDERS_LOST) throw error;
    }
  }
}

/**
 * Creates a folder, and syncs the parent of each new folder: only then is a new folder durable. Node's own
 * recursive form does not end where the system says that an existing folder does not exist, as in /proc.
 */
async function makeFolder(path: string): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EEXIST' && (await stat(path)).isDirectory()) return;
    const above = dirname(path);
    if (code !== 'ENOENT' || above === path) throw error;
    await makeFolder(above);
    await mkdir(path).catch(ignoreExisting);
  }
  await syncFolder(dirname(path));
}

/** Another process may create the folder at the same time. */
function ignoreExisting(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
}

async function syncFolder(path: string): Promise<void> {
  const folder = await whenDescriptorIsFree(`Syncing ${path}`, () => open(path, 'r'));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

async function getFile(path: string, { start = 0, into }: GetOptions = {}): Promise<Uint8Array> {
  // A pipe would be waited for.
  if (!(await stat(path)).isFile()) {
    throw storageErrorOf('ACC_STORAGE_FAILED', `Reading ${path}`, 'it is no file', undefined);
  }
  const file = await whenDescriptorIsFree(`Reading ${path}`, () => open(path, 'r'));
  try {
    const target = into ?? new Uint8Array(Math.max(0, (await file.stat()).size - start));
    for (let done = 0; done < target.length;) {
      const { bytesRead } = await file.read(target, done, target.length - done, start + done);
      if (bytesRead === 0) {
        const reason = `the file ends at byte ${start + done}, before the end of the requested range`;
        throw storageErrorOf('ACC_STORAGE_NOT_FOUND', `Reading ${path}`, reason, undefined);
      }
      done += bytesRead;
    }
    return target;
  } finally {
    await file.close();
  }
}

/**
 * Local file systems, by the type number that `statfs` gives. No other host can delete a file there
 * while it is in use.
 */
const LOCAL_FILE_SYSTEMS = new Set([
  0xef53, // ext2 to ext4
  0x58465342, // XFS
  0x9123683e, // Btrfs
  0xf2f52010, // F2FS
  0x2fc12fc1, // ZFS
  0x794c7630, // overlays
  0x01021994, // tmpfs
]);

async function mappable(path: string): Promise<string | undefined> {
  return LOCAL_FILE_SYSTEMS.has((await fs.statfs(path)).type) ? path : undefined;
}

async function listFiles(root: string, prefix: string): Promise<StoredObject[]> {
  const found: StoredObject[] = [];
  const visit = async (key: string): Promise<void> => {
    let entries;
    try {
      entries = await entriesOf(join(root, key));
    } catch (error) {
      // The folder does not exist, or was deleted after its parent was read.
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
      throw error;
    }
    for (const entry of entries) {
      if (entry.isDirectory()) await visit(`${key}${entry.name}/`);
      else found.push(...(await sizeOf(root, `${key}${entry.name}`)));
    }
  };
  await visit(prefix);
  return found;
}

function entriesOf(folder: string): Promise<Dirent[]> {
  return whenDescriptorIsFree(`Listing ${folder}`, () => readdir(folder, { withFileTypes: true }));
}

async function sizeOf(root: string, key: string): Promise<StoredObject[]> {
  try {
    return [{ key, bytes: (await stat(join(root, key))).size }];
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}

/** Removes a folder if it is empty. */
async function removeEmpty(folder: string): Promise<void> {
  try {
    await rmdir(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ENOTEMPTY' && code !== 'EEXIST' && code !== 'ENOENT') throw error;
  }
}
