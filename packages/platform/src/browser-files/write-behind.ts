import { AccError } from '@acc/contract';
import type { MemoryFile } from './memory-file.js';
import { folderAt, isAbsent, rootFolder } from './opfs.js';

/** Brings the files in memory into the page's storage, one after another, in the order of the changes. */
export class WriteBehind {
  readonly #files: ReadonlyMap<string, MemoryFile>;
  /** Paths whose stored file differs from the one in memory, in the order of their first change. */
  readonly #changed = new Set<string>();
  #running: Promise<void> | undefined;
  #error: AccError | undefined;
  #isHomeless = false;

  constructor(files: ReadonlyMap<string, MemoryFile>) {
    this.#files = files;
  }

  /** The file at a path has changed, or is gone. */
  note(path: string): void {
    this.#changed.add(path);
    this.#running ??= this.#run().finally(() => (this.#running = undefined));
  }

  /** Resolves when everything is stored. @throws AccError the first error since the last call. */
  async settle(): Promise<void> {
    while (this.#running) await this.#running;
    const error = this.#error;
    this.#error = undefined;
    if (error) throw error;
  }

  async #run(): Promise<void> {
    // Changes of one turn are written together.
    await Promise.resolve();
    const root = await rootFolder();
    if (!root) return this.#warnOnce();
    for (const path of this.#changed) {
      this.#changed.delete(path);
      try {
        await this.#store(root, path);
      } catch (error) {
        this.#error ??= storingFailed(path, error);
        console.warn(`acc: ${this.#error.message}`);
      }
    }
  }

  async #store(root: FileSystemDirectoryHandle, path: string): Promise<void> {
    const end = path.lastIndexOf('/');
    const name = path.slice(end + 1);
    const file = this.#files.get(path);
    if (!file) {
      const folder = await folderAt(root, path.slice(0, end), false);
      return folder?.removeEntry(name).catch((error: unknown) => {
        if (!isAbsent(error)) throw error;
      });
    }
    const folder = await folderAt(root, path.slice(0, end), true);
    const handle = await folder!.getFileHandle(name, { create: true });
    const { storedBytes, bytes } = file;
    // The copy that the stream writes takes the place of the file when it is closed.
    const stream = await handle.createWritable({ keepExistingData: storedBytes !== undefined });
    const position = storedBytes ?? 0;
    await stream.write({ type: 'write', position, data: file.tail(position).slice(0, bytes - position) });
    await stream.close();
    file.storedBytes = bytes;
  }

  #warnOnce(): void {
    this.#changed.clear();
    if (this.#isHomeless) return;
    this.#isHomeless = true;
    console.warn(
      'acc: this page has no files of its own, so what trackers write is lost when it ends. Serve the page by https or from localhost.',
    );
  }
}

function storingFailed(path: string, cause: unknown): AccError {
  const { name, message } = cause as DOMException;
  const code = name === 'QuotaExceededError' ? 'ACC_STORAGE_FULL' : 'ACC_STORAGE_FAILED';
  return new AccError(code, `Writing ${path} into the files of this page failed: ${message}`, { cause });
}
