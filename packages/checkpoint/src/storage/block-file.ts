import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';

/** Not among the types of Node. */
declare const WebAssembly: {
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

/** What goes to the disk at once. */
const BLOCK_BYTES = 8 * 1024 * 1024;
/** On their way at the same time: one less than Node has threads for files, which have checksums to compute besides. */
const BLOCKS = 3;
/** Where direct writes may begin and end: a multiple of what disks ask for. */
const SECTOR_BYTES = 4096;

/**
 * Writes a new file and syncs it to the disk. Its bytes go past the system's cache where the file system allows that: they are needed
 * on the disk anyway, and pages for them in the cache cost more than writing.
 *
 * @param pieces An array is not read any more when the next is asked for.
 */
export async function writeSynced(path: string, pieces: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await BlockFile.create(path);
  try {
    for await (const piece of pieces) {
      for (let rest = piece; rest.length > 0;) rest = await file.take(rest);
    }
    await file.finish();
  } finally {
    await file.close();
  }
}

class BlockFile {
  readonly #path: string;
  readonly #blocks: readonly Uint8Array[];
  readonly #writes: Promise<void>[] = [];
  #file: FileHandle;
  #isDirect: boolean;
  #error: Error | undefined;
  /** Of those that were begun, the current one included. */
  #count = 0;
  /** Bytes in the current block. */
  #filled = 0;

  private constructor(path: string, { file, blocks, isDirect }: Opened) {
    this.#path = path;
    this.#file = file;
    this.#blocks = blocks;
    this.#isDirect = isDirect;
  }

  static async create(path: string): Promise<BlockFile> {
    return new BlockFile(path, await openFile(path));
  }

  /** Takes what there is room for, and gives the rest. */
  async take(bytes: Uint8Array): Promise<Uint8Array> {
    const taken = bytes.subarray(0, BLOCK_BYTES - this.#filled);
    this.#blocks[this.#count % BLOCKS]!.set(taken, this.#filled);
    this.#filled += taken.length;
    if (this.#filled === BLOCK_BYTES) {
      this.#begin(BLOCK_BYTES);
      this.#count++;
      this.#filled = 0;
      await this.#writes[this.#count % BLOCKS];
      if (this.#error) throw this.#error;
    }
    return bytes.subarray(taken.length);
  }

  async finish(): Promise<void> {
    const bytes = this.#count * BLOCK_BYTES + this.#filled;
    const padded = Math.ceil(this.#filled / SECTOR_BYTES) * SECTOR_BYTES;
    this.#blocks[this.#count % BLOCKS]!.fill(0, this.#filled, padded);
    if (padded > 0) this.#begin(padded);
    await Promise.all(this.#writes);
    if (this.#error) throw this.#error;
    await this.#file.truncate(bytes);
    await this.#file.sync();
  }

  async close(): Promise<void> {
    await Promise.all(this.#writes);
    await this.#file.close();
  }

  /** Begins to write the current block. */
  #begin(length: number): void {
    const place = this.#count % BLOCKS;
    const bytes = this.#blocks[place]!.subarray(0, length);
    this.#writes[place] = this.#write(bytes, this.#count * BLOCK_BYTES).catch((error: Error) => {
      this.#error ??= error;
    });
  }

  /** One call may write less than it is given. */
  async #write(bytes: Uint8Array, start: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const file = this.#file;
      try {
        done += (await file.write(bytes, done, bytes.length - done, start + done)).bytesWritten;
      } catch (error) {
        // Another one, refused at the same time, may have given up direct writes already.
        const isOld = file !== this.#file;
        if (!isRefused(error) || !(isOld || this.#isDirect)) throw error;
        if (!isOld) await this.#giveUpDirect(file);
      }
    }
  }

  /** Some file systems let a file be opened for direct writes, and refuse them then. */
  async #giveUpDirect(refused: FileHandle): Promise<void> {
    const plain = await open(this.#path, 'r+');
    if (this.#file !== refused) return plain.close();
    this.#file = plain;
    this.#isDirect = false;
    await refused.close();
  }
}

interface Opened {
  readonly file: FileHandle;
  readonly blocks: readonly Uint8Array[];
  readonly isDirect: boolean;
}

async function openFile(path: string): Promise<Opened> {
  const aligned = alignedBlocks();
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_TRUNC;
  if (aligned && constants.O_DIRECT !== undefined) {
    try {
      return { file: await open(path, flags | constants.O_DIRECT), blocks: aligned, isDirect: true };
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  const blocks = aligned ?? Array.from({ length: BLOCKS }, () => new Uint8Array(BLOCK_BYTES));
  return { file: await open(path, flags), blocks, isDirect: false };
}

function isRefused(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EINVAL' || code === 'EOPNOTSUPP';
}

/** Memory that begins with a page, which of what JavaScript has only WebAssembly's does; undefined where there is none. */
function alignedBlocks(): Uint8Array[] | undefined {
  try {
    const pages = (BLOCKS * BLOCK_BYTES) / 65_536;
    const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages });
    return Array.from({ length: BLOCKS }, (_, i) => new Uint8Array(buffer, i * BLOCK_BYTES, BLOCK_BYTES));
  } catch (error) {
    // It takes address space, which may be limited.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
