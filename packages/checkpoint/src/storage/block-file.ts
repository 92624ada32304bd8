import { constants } from 'node:fs';
import { open, type FileHandle } from 'node:fs/promises';
import { whenDescriptorIsFree } from './descriptors.js';

/** The types of Node.js lack this declaration. */
declare const WebAssembly: {
  readonly Memory: new (pages: { initial: number; maximum: number }) => { readonly buffer: ArrayBuffer };
};

/** Bytes per write to the disk. */
const BLOCK_BYTES = 8 * 1024 * 1024;
/**
 * The number of concurrent writes. It is one less than the number of threads that Node.js uses for
 * files, because these threads also compute checksums.
 */
const BLOCKS = 3;
/** The alignment of direct writes in bytes: a multiple of what disks require. */
const SECTOR_BYTES = 4096;

/**
 * Writes a new file and syncs it to the disk. The bytes bypass the system's page cache if the file
 * system supports direct writes: filling pages of the cache costs more time than the write itself.
 *
 * @param items An array is not read after the next one is requested.
 */
export async function writeSynced(path: string, items: AsyncIterable<Uint8Array>): Promise<void> {
  const file = await BlockFile.create(path);
  try {
    for await (const item of items) {
      for (let rest = item; rest.length > 0;) rest = await file.take(rest);
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
  /** The number of full blocks whose write has begun. It is also the index of the current block. */
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

  /** Copies as many bytes as the current block has room for, and returns the rest. */
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

  /**
   * Repeats the call until all bytes are written, because one call may write fewer than it is
   * given.
   */
  async #write(bytes: Uint8Array, start: number): Promise<void> {
    for (let done = 0; done < bytes.length;) {
      const file = this.#file;
      try {
        done += (await file.write(bytes, done, bytes.length - done, start + done)).bytesWritten;
      } catch (error) {
        // Another write that was refused at the same time may have disabled direct writes already.
        const isOld = file !== this.#file;
        if (!isRefused(error) || !(isOld || this.#isDirect)) throw error;
        if (!isOld) await this.#giveUpDirect(file);
      }
    }
  }

  /**
   * Reopens the file for plain writes. Some file systems open a file for direct writes and then
   * refuse to write.
   */
  async #giveUpDirect(refused: FileHandle): Promise<void> {
    const plain = await openPatiently(this.#path, 'r+');
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
      return { file: await openPatiently(path, flags | constants.O_DIRECT), blocks: aligned, isDirect: true };
    } catch (error) {
      if (!isRefused(error)) throw error;
    }
  }
  const blocks = aligned ?? Array.from({ length: BLOCKS }, () => new Uint8Array(BLOCK_BYTES));
  return { file: await openPatiently(path, flags), blocks, isDirect: false };
}

function openPatiently(path: string, flags: string | number): Promise<FileHandle> {
  return whenDescriptorIsFree(`Writing ${path}`, () => open(path, flags));
}

function isRefused(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'EINVAL' || code === 'EOPNOTSUPP';
}

/**
 * Blocks of page-aligned memory. In JavaScript only WebAssembly memory is page-aligned. Undefined
 * if it cannot be allocated.
 */
function alignedBlocks(): Uint8Array[] | undefined {
  try {
    const pages = (BLOCKS * BLOCK_BYTES) / 65_536;
    const { buffer } = new WebAssembly.Memory({ initial: pages, maximum: pages });
    return Array.from({ length: BLOCKS }, (_, i) => new Uint8Array(buffer, i * BLOCK_BYTES, BLOCK_BYTES));
  } catch (error) {
    // The allocation reserves address space, which may be limited.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
