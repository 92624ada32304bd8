import { files, type OpenFile } from '@acc/platform';
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
  #file: OpenFile | undefined;
  #readBytes: number;
  #sizeBytes: number;

  /** Opens the file, or continues an existing one. */
  constructor(path: string) {
    this.path = path;
    this.#readBytes = this.#sizeBytes = 0;
    if (!files.exists(path)) return;
    this.#sizeBytes = this.#open().bytes;
    this.#readBytes = files.exists(this.#sentPath) ? Number(files.readText(this.#sentPath)) : 0;
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
    const encoder = new TextEncoder();
    const lengths = lines.map((line) => encoder.encode(line).length + 1);
    try {
      this.#open().write(encoder.encode(lines.map((line) => `${line}\n`).join('')));
    } catch (error) {
      if (this.#sizeBytes === 0) this.remove();
      throw error;
    }
    return lengths.map((length) => (this.#sizeBytes += length));
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
    const decoder = new TextDecoder();
    const entries: SpooledEntry[] = [];
    for (let from = 0; from < bytes.length;) {
      const newline = bytes.indexOf(NEWLINE, from);
      const end = newline < 0 ? bytes.length : newline + 1;
      const entry = decodeEntry(decoder.decode(bytes.subarray(from, end)));
      if (entry) entries.push({ entry, endBytes: start + end });
      from = end;
    }
    return entries;
  }

  /** Records that everything before `offsetBytes` was sent. */
  markSent(offsetBytes: number): void {
    files.write(this.#sentPath, String(offsetBytes));
  }

  close(): void {
    this.#file?.close();
    this.#file = undefined;
  }

  remove(): void {
    this.close();
    files.remove(this.path);
    files.remove(this.#sentPath);
    this.#readBytes = this.#sizeBytes = 0;
  }

  get #sentPath(): string {
    return `${this.path}.sent`;
  }

  #open(): OpenFile {
    return (this.#file ??= files.open(this.path));
  }

  /** Reads whole lines. Reads more than `wantedBytes` if a line is longer. */
  #readLines(wantedBytes: number): Uint8Array {
    const left = this.#sizeBytes - this.#readBytes;
    const buffer = new Uint8Array(Math.min(left, wantedBytes));
    const count = this.#open().read(buffer, this.#readBytes);
    if (count < buffer.length) return buffer.subarray(0, count);
    const end = buffer.lastIndexOf(NEWLINE) + 1;
    if (end > 0) return buffer.subarray(0, end);
    return left > wantedBytes ? this.#readLines(2 * wantedBytes) : buffer;
  }
}
