import { isAccError, type Storage } from '@acc/contract';
import { invalidGguf } from './errors.js';

/** Bytes that are read at a time. */
const BLOCK_BYTES = 128 * 1024;

/** A stored object. */
export interface StoredFile {
  readonly storage: Storage;
  readonly key: string;
  /** Its path for messages. */
  readonly where: string;
}

/** Whether the byte at `offset` exists. */
export async function hasByte({ storage, key }: StoredFile, offset: number): Promise<boolean> {
  try {
    await storage.get(key, { start: offset, into: new Uint8Array(1) });
    return true;
  } catch (error) {
    if (isAccError(error, 'ACC_STORAGE_NOT_FOUND')) return false;
    throw error;
  }
}

/** Reads numbers and texts of a file one after the other, in blocks. */
export class ByteCursor {
  readonly #file: StoredFile;
  #block = new Uint8Array(0);
  #start = 0;
  #offset = 0;

  constructor(file: StoredFile) {
    this.#file = file;
  }

  /** The offset of the next byte in the file. */
  get offset(): number {
    return this.#offset;
  }

  /** Whether the next `count` bytes are in memory. Reading them then needs no waiting. */
  has(count: number): boolean {
    return this.#offset >= this.#start && this.#offset + count <= this.#start + this.#block.length;
  }

  /** @throws AccError `ACC_GGUF_INVALID` if the file ends before. */
  async load(count: number): Promise<void> {
    if (this.has(count)) return;
    const block = await this.#read(Math.max(count, BLOCK_BYTES));
    if (block.length < count) {
      throw invalidGguf(this.#file.where, `it ends before byte ${this.#offset + count}, within its header`);
    }
    this.#block = block;
    this.#start = this.#offset;
  }

  /** As many of `count` bytes as the file has. Storages do not tell sizes. */
  async #read(count: number): Promise<Uint8Array<ArrayBuffer>> {
    const { storage, key } = this.#file;
    const start = this.#offset;
    const read = async (length: number) => {
      const into = new Uint8Array(length);
      await storage.get(key, { start, into });
      return into;
    };
    try {
      return await read(count);
    } catch (error) {
      if (!isAccError(error, 'ACC_STORAGE_NOT_FOUND')) throw error;
    }
    let least = 0;
    for (let most = count - 1; least < most;) {
      const middle = Math.ceil((least + most) / 2);
      if (await hasByte(this.#file, start + middle - 1)) least = middle;
      else most = middle - 1;
    }
    return await read(least);
  }

  /** @param length A count of bytes in the file, which may be wrong. */
  skip(length: number): void {
    const offset = this.#offset + length;
    if (!Number.isSafeInteger(offset))
      throw invalidGguf(this.#file.where, `a length of ${length} bytes is too large`);
    this.#offset = offset;
  }

  /** The next `length` bytes, which are in memory. */
  #take(length: number): DataView {
    const view = new DataView(this.#block.buffer, this.#offset - this.#start, length);
    this.#offset += length;
    return view;
  }

  /** A number that {@link load} has read. */
  u32(): number {
    return this.#take(4).getUint32(0, true);
  }

  /** A number of 8 bytes that {@link load} has read. Above `most` it is refused. */
  count(of: string, most = Number.MAX_SAFE_INTEGER): number {
    const value = this.#take(8).getBigUint64(0, true);
    if (value > BigInt(most)) throw invalidGguf(this.#file.where, `${of} is ${value}, above ${most}`);
    return Number(value);
  }

  /** Reads with one of the functions of DataView. */
  async value<T>(length: number, read: (view: DataView) => T): Promise<T> {
    await this.load(length);
    return read(this.#take(length));
  }

  /** @param length At most some kilobytes. */
  text(length: number): Promise<string> {
    return this.value(length, (view) =>
      new TextDecoder().decode(new Uint8Array(view.buffer, view.byteOffset, length)),
    );
  }
}
