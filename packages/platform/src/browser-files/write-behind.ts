import { AccError } from '@acc/contract';
import type { MemoryFile } from './memory-file.js';
import { folderAt, isAbsent, rootFolder, writeFile } from './opfs.js';

/** A browser copies a file to append to it. Between writes, it rests this many times as long as they took. */
const REST = 9;

/** Brings the files in memory into the page's storage, one after another, in the order of the changes. */
export class WriteBehind {
  readonly #files: ReadonlyMap<string, MemoryFile>;
  /** Paths whose stored file differs from the one in memory, in the order of their first change. */
  readonly #changed = new Set<string>();
  #running: Promise<void> | undefined;
  /** Why a file that is still in `#changed` could not be written. */
  #error: AccError | undefined;
  #isHomeless = false;
  #restMs = 0;
  /** Ends the rest. */
  #hurry = (): void => {};

  constructor(files: ReadonlyMap<string, MemoryFile>) {
    this.#files = files;
  }

  /** The file at a path has changed, or is gone. */
  note(path: string): void {
    this.#changed.add(path);
    this.#running ??= this.#run();
  }

  /**
   * Resolves when everything is stored. What could not be written before is written again.
   *
   * @throws AccError the first error of what cannot be written.
   */
  async settle(): Promise<void> {
    if (this.#changed.size > 0) this.#running ??= this.#run();
    while (this.#running) {
      this.#hurry();
      await this.#running;
    }
    if (this.#error) throw this.#error;
  }

  async #run(): Promise<void> {
    // Changes of one turn, or of a rest, are written together.
    await new Promise<void>((resolve) => {
      this.#hurry = resolve;
      if (this.#restMs > 0) setTimeout(resolve, this.#restMs);
      else resolve();
    });
    const start = performance.now();
    const root = await rootFolder();
    const failed: string[] = [];
    const before = this.#error?.message;
    this.#error = undefined;
    if (!root) this.#warnOnce();
    // The loop also sees paths that are added in it.
    for (const path of this.#changed) {
      this.#changed.delete(path);
      try {
        await this.#store(root!, path);
      } catch (error) {
        failed.push(path);
        this.#error ??= storingFailed(path, error);
      }
    }
    for (const path of failed) this.#changed.add(path);
    if (this.#error && this.#error.message !== before) console.warn(`acc: ${this.#error.message}`);
    this.#restMs = REST * (performance.now() - start);
    // Without a turn since the loop, so that no change is missed.
    this.#running = undefined;
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
    const { storedBytes, bytes } = file;
    const position = storedBytes ?? 0;
    const data = file.tail(position).slice();
    const write = { type: 'write', position, data } as const;
    await writeFile(folder!, name, (stream) => stream.write(write), storedBytes !== undefined);
    file.markStored(bytes);
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
  return new AccError(code, `Writing ${path} into the files of this page failed: ${message}`, {
    help: 'Delete files of this page, or allow it more storage.',
    cause,
  });
}
