import type { Files } from '../files.js';
import { announcePage } from '../pages-alive.js';
import { MemoryFile } from '../browser-files/memory-file.js';
import { WriteBehind } from '../browser-files/write-behind.js';
import { filesBelow, rootFolder } from '../browser-files/opfs.js';
import { processId } from './host.browser.js';
import { basename, dirname, resolve } from './paths.browser.js';

const known = new Map<string, MemoryFile>();
const folders = new Set<string>(['/']);
const saving = new WriteBehind(known);

export const files: Files = {
  exists: (path) => known.has(resolve(path)) || folders.has(resolve(path)),
  makeFolder(path) {
    for (let at = resolve(path); !folders.has(at); at = dirname(at)) folders.add(at);
  },
  readText: (path) => new TextDecoder().decode(get(path).content()),
  write(path, content) {
    const bytes = typeof content === 'string' ? new TextEncoder().encode(content) : content;
    put(path, MemoryFile.of(bytes));
  },
  replace(path, content) {
    this.write(path, content);
  },
  rename(from, to) {
    put(to, MemoryFile.of(get(from).content()));
    this.remove(from);
  },
  remove(path) {
    if (known.delete(resolve(path))) saving.note(resolve(path));
  },
  list(path) {
    const at = resolve(path);
    if (!folders.has(at)) throw missing(at);
    const inside = (one: string) => one !== '/' && dirname(one) === at;
    const named = (isFolder: boolean) => (one: string) => ({
      name: basename(one),
      isFolder,
      isFile: !isFolder,
    });
    return [
      ...[...folders].filter(inside).map(named(true)),
      ...[...known.keys()].filter(inside).map(named(false)),
    ];
  },
  look(path) {
    const at = resolve(path);
    const file = known.get(at);
    if (file) return { bytes: file.bytes, isFolder: false };
    return folders.has(at) ? { bytes: 0, isFolder: true } : undefined;
  },
  open(path, isRead = true) {
    const at = resolve(path);
    if (!known.has(at)) put(at, MemoryFile.of(new Uint8Array()));
    const file = known.get(at)!;
    file.isRead = isRead;
    return {
      get bytes() {
        return file.bytes;
      },
      write(bytes) {
        file.append(bytes);
        if (known.get(at) === file) saving.note(at);
      },
      read: (into, from) => file.read(into, from),
      close() {},
    };
  },
};

function get(path: string): MemoryFile {
  const file = known.get(resolve(path));
  if (!file) throw missing(resolve(path));
  return file;
}

function put(path: string, file: MemoryFile): void {
  const at = resolve(path);
  if (!folders.has(dirname(at))) throw missing(dirname(at));
  known.set(at, file);
  saving.note(at);
}

/** The error that a system call would give. */
function missing(path: string): Error {
  return Object.assign(new Error(`ENOENT: no such file or folder, '${path}'`), { code: 'ENOENT' });
}

/**
 * Makes the files below a folder known to {@link files}. Those that are known already stay as they
 * are.
 *
 * @param isRead Which files will be read. The content of others is not loaded.
 */
export async function openFolder(path: string, isRead: (path: string) => boolean): Promise<void> {
  await announcePage(processId);
  await saving.settle();
  const root = await rootFolder();
  if (!root) return;
  const at = resolve(path);
  for (const { path: inside, file, isFolder } of await filesBelow(root, at)) {
    if (isFolder) files.makeFolder(inside);
    else if (!known.get(inside)?.isComplete) {
      const found = await file!.getFile();
      const content = isRead(inside) ? new Uint8Array(await found.arrayBuffer()) : undefined;
      if (content || !known.has(inside)) known.set(inside, MemoryFile.stored(found.size, content));
    }
  }
}

/** Makes a file known to {@link files} that is in the page's storage. Undefined bytes: it is gone. */
export function noteFile(path: string, bytes: number | undefined): void {
  if (bytes === undefined) return void known.delete(path);
  files.makeFolder(dirname(path));
  known.set(path, MemoryFile.stored(bytes, undefined));
}

/**
 * Resolves when all changes so far are in the page's files.
 *
 * @throws AccError `ACC_STORAGE_FULL`, `ACC_STORAGE_FAILED`.
 */
export function settleFiles(): Promise<void> {
  return saving.settle();
}
