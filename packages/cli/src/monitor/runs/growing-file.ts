import { open, stat } from 'node:fs/promises';

/** A large file is read in parts, so that requests are answered between them. */
const PART_BYTES = 1 << 22;

/** A file to which others append. */
export class GrowingFile {
  #at = 0;

  constructor(readonly path: string) {}

  /** Whether the file is shorter than it was, so that it is another one. */
  async wasReplaced(): Promise<boolean> {
    return (await sizeOf(this.path)) < this.#at;
  }

  /** The bytes that were appended since the last call, a part at a time. None if the file does not exist. */
  async *appended(): AsyncGenerator<Uint8Array> {
    const size = await sizeOf(this.path);
    if (size <= this.#at) return;
    const file = await open(this.path);
    try {
      while (this.#at < size) {
        const part = new Uint8Array(Math.min(PART_BYTES, size - this.#at));
        const { bytesRead } = await file.read(part, 0, part.length, this.#at);
        if (bytesRead === 0) return;
        this.#at += bytesRead;
        yield part.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}

/** 0 if there is none. */
async function sizeOf(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
    throw error;
  }
}
