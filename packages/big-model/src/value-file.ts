import { closeSync, ftruncateSync, mkdirSync, openSync, readSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { threadId } from 'node:worker_threads';
import { fileClosed, fileFailed, fileTruncated } from './errors.js';

/** Values begin at multiples of this, the size of a page. */
const ALIGNMENT = 4096;

let created = 0;

/**
 * A file of values that are read and written in place. It has no name in its folder from the moment
 * it is open, so the system removes it when the process ends, however it ends.
 */
export class ValueFile {
  readonly #where: string;
  readonly #file: number;
  #end = 0;
  #isClosed = false;
  /** The positions of ranges that are free, by their length. */
  readonly #free = new Map<number, number[]>();

  /**
   * @param folder Made if missing.
   * @throws AccError `ACC_STORAGE_DENIED`, `ACC_STORAGE_FULL`, `ACC_STORAGE_FAILED`.
   */
  constructor(folder: string) {
    this.#where = join(folder, `acc-${process.pid}-${threadId}-${created++}.values`);
    this.#file = this.#do('opening', () => {
      mkdirSync(folder, { recursive: true });
      const file = openSync(this.#where, 'wx+', 0o600);
      try {
        rmSync(this.#where);
      } catch (error) {
        closeSync(file);
        throw error;
      }
      return file;
    });
  }

  /** Reserves bytes: a range of this length that was freed, or else the end of the file. Returns the position. */
  reserve(byteLength: number): number {
    const length = aligned(byteLength);
    const freed = this.#free.get(length)?.pop();
    if (freed !== undefined) return freed;
    const start = this.#end;
    this.#do('extending', () => ftruncateSync(this.#file, start + length));
    this.#end = start + length;
    return start;
  }

  /** The bytes that were reserved at `start` are not used any more. */
  free(start: number, byteLength: number): void {
    const length = aligned(byteLength);
    const known = this.#free.get(length);
    if (known) known.push(start);
    else this.#free.set(length, [start]);
  }

  /** @throws AccError `ACC_STORAGE_FULL` if the disk is full. */
  write(start: number, bytes: Uint8Array): void {
    this.#do('writing', () => {
      for (let done = 0; done < bytes.length;) {
        done += writeSync(this.#file, bytes, done, bytes.length - done, start + done);
      }
    });
  }

  /** Fills `bytes`. */
  read(start: number, bytes: Uint8Array): void {
    this.#do('reading', () => {
      for (let done = 0; done < bytes.length;) {
        const count = readSync(this.#file, bytes, done, bytes.length - done, start + done);
        if (count === 0) throw fileTruncated(this.#where);
        done += count;
      }
    });
  }

  /** From now on, reads and writes are errors: the system may give the number of the file to another one. */
  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    closeSync(this.#file);
  }

  #do<T>(doing: string, run: () => T): T {
    try {
      if (this.#isClosed) throw fileClosed(this.#where);
      return run();
    } catch (error) {
      throw fileFailed(doing, this.#where, error);
    }
  }
}

const aligned = (byteLength: number): number => Math.ceil(byteLength / ALIGNMENT) * ALIGNMENT;
