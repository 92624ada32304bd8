import { open, stat } from 'node:fs/promises';

/** A large file is read in parts, so that requests are answered between them. */
const PART_BYTES = 1 << 20;
/** The end of what was read, which another file of the same name does not have. */
const KNOWN_BYTES = 64;

/** A file to which others append. */
export class GrowingFile {
  #at = 0;
  /** The last bytes before that place. */
  #known = Buffer.alloc(0);

  constructor(readonly path: string) {}

  /** Whether it is another file: it is shorter, or it is longer and has other bytes where reading ended. */
  async wasReplaced(): Promise<boolean> {
    const size = await sizeOf(this.path);
    if (size <= this.#at) return size < this.#at;
    const begin = this.#at - this.#known.length;
    return !this.#known.equals(await readPart(this.path, begin, this.#known.length));
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
        this.#known = Buffer.concat([
          this.#known,
          part.subarray(Math.max(0, bytesRead - KNOWN_BYTES), bytesRead),
        ]).subarray(-KNOWN_BYTES);
        yield part.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }
}

/** Bytes of a file, fewer if it ends before. */
export async function readPart(path: string, begin: number, length: number): Promise<Buffer> {
  if (length === 0) return Buffer.alloc(0);
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(length), 0, length, begin);
    return buffer.subarray(0, bytesRead);
  } finally {
    await file.close();
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
