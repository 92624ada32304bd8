/**
 * The root of the page's private files (OPFS). Undefined where the browser has none, which needs a
 * secure context (https or localhost), or refuses them, as in some private windows.
 */
export async function rootFolder(): Promise<FileSystemDirectoryHandle | undefined> {
  return hasOpfs() ? navigator.storage.getDirectory().catch(() => undefined) : undefined;
}

/**
 * Writes a file through a stream. What was written takes the place of the file when `write`
 * resolves. After an error the file is as before.
 *
 * @param isKept The stream starts with the content of the file.
 */
export async function writeFile(
  folder: FileSystemDirectoryHandle,
  name: string,
  write: (stream: FileSystemWritableFileStream) => Promise<void>,
  isKept = false,
): Promise<FileSystemFileHandle> {
  const handle = await folder.getFileHandle(name, { create: true });
  const stream = await handle.createWritable({ keepExistingData: isKept });
  try {
    await write(stream);
    await stream.close();
  } catch (error) {
    await stream.abort().catch(() => {});
    throw error;
  }
  return handle;
}

/** Whether the page has private files. */
export function hasOpfs(): boolean {
  const { storage } = navigator as { storage?: StorageManager };
  return storage !== undefined && 'getDirectory' in storage;
}

/** The folder at an absolute path. Undefined if it is missing and not to be made. */
export async function folderAt(
  root: FileSystemDirectoryHandle,
  path: string,
  create: boolean,
): Promise<FileSystemDirectoryHandle | undefined> {
  let folder = root;
  for (const name of path.split('/').filter(Boolean)) {
    try {
      folder = await folder.getDirectoryHandle(name, { create });
    } catch (error) {
      if (!create && isAbsent(error)) return undefined;
      throw error;
    }
  }
  return folder;
}

/** Whether there is nothing of the wanted kind at a place. */
export function isAbsent(error: unknown): boolean {
  const { name } = error as DOMException;
  return name === 'NotFoundError' || name === 'TypeMismatchError';
}

/** Something below a folder, with its absolute path. */
export interface Found {
  readonly path: string;
  readonly isFolder: boolean;
  /** Undefined for a folder. */
  readonly file: FileSystemFileHandle | undefined;
}

/** All folders and files below a path, and the folder itself. */
export async function filesBelow(root: FileSystemDirectoryHandle, path: string): Promise<Found[]> {
  const start = await folderAt(root, path, false);
  const found: Found[] = [];
  const visit = async (folder: FileSystemDirectoryHandle, at: string): Promise<void> => {
    found.push({ path: at || '/', isFolder: true, file: undefined });
    for await (const [name, handle] of folder.entries()) {
      if (handle.kind === 'directory') await visit(handle as FileSystemDirectoryHandle, `${at}/${name}`);
      else found.push({ path: `${at}/${name}`, isFolder: false, file: handle as FileSystemFileHandle });
    }
  };
  if (start) await visit(start, path === '/' ? '' : path);
  return found;
}
