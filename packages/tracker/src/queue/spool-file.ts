import {
  closeSync,
  existsSync,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { decodeEntry } from '../entry-json.js';
import type { Entry } from '../entry.js';

const READ_BYTES = 256 * 1024;
const NEWLINE = 10;

/** An entry in a file, and the offset after it. */
export interface SpooledEntry {
  readonly entry: Entry;
  readonly endBytes: number;
}

/**
 * Entries as lines of a file, read from its start and appended at its end. A second file holds the
 * offset up to which entries were sent.
 */
export class SpoolFile {
  readonly path: string;
  #file: number | undefined;
  #readBytes: number;
  #sizeBytes: number;

  /** Opens the file, or continues an existing one. */
  constructor(path: string) {
    this.path = path;
    this.#readBytes = this.#sizeBytes = 0;
    if (!existsSync(path)) return;
    this.#sizeBytes = fstatSync(this.#open()).size;
    this.#readBytes = existsSync(this.#sentPath) ? Number(readFileSync(this.#sentPath, 'utf8')) : 0;
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  /** Whether everything has been read. */
  get isRead(): boolean {
    return this.#readBytes >= this.#sizeBytes;
  }

  /** Appends lines and returns the offset after each. */
  append(lines: readonly string[]): number[] {
    const chunks = lines.map((line) => Buffer.from(`${line}\n`));
    const all = Buffer.concat(chunks);
    for (let done = 0; done < all.length;) done += writeSync(this.#open(), all, done);
    return chunks.map(({ length }) => (this.#sizeBytes += length));
  }

  /** Skips everything before an offset. */
  skipTo(offsetBytes: number): void {
    this.#readBytes = offsetBytes;
  }

  /** The next entries. Incomplete lines, left by a process that died, are skipped. */
  read(): SpooledEntry[] {
    const bytes = this.#readLines(READ_BYTES);
    const start = this.#readBytes;
    this.#readBytes += bytes.length;
    const entries: SpooledEntry[] = [];
    for (let from = 0; from < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, from);
      const end = newline < 0 ? bytes.length : newline + 1;
      const entry = decodeEntry(bytes.toString('utf8', from, end));
      if (entry) entries.push({ entry, endBytes: start + end });
      from = end;
    }
    return entries;
  }

  /** Records that everything before `offsetBytes` was sent. */
  markSent(offsetBytes: number): void {
    writeFileSync(this.#sentPath, String(offsetBytes));
  }

  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  remove(): void {
    this.close();
    rmSync(this.path, { force: true });
    rmSync(this.#sentPath, { force: true });
    this.#readBytes = this.#sizeBytes = 0;
  }

  get #sentPath(): string {
    return `${this.path}.sent`;
  }

  #open(): number {
    return (this.#file ??= openSync(this.path, 'a+'));
  }

  /** Reads whole lines. Reads more than `wantedBytes` if a line is longer. */
  #readLines(wantedBytes: number): Buffer {
    const left = this.#sizeBytes - this.#readBytes;
    const buffer = Buffer.alloc(Math.min(left, wantedBytes));
    for (let done = 0; done < buffer.length;) {
      const count = readSync(this.#open(), buffer, done, buffer.length - done, this.#readBytes + done);
      if (count === 0) return buffer.subarray(0, done);
      done += count;
    }
    const end = buffer.lastIndexOf(NEWLINE) + 1;
    if (end > 0) return buffer.subarray(0, end);
    return left > wantedBytes ? this.#readLines(2 * wantedBytes) : buffer;
  }
}
