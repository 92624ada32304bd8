import { AccError } from '@acc/contract';

/** The content of a file in memory, and how much of it is stored. */
export class MemoryFile {
  /** Bytes before this offset are not in memory. */
  #start: number;
  #held: Uint8Array<ArrayBuffer>;
  #bytes: number;
  #storedBytes: number | undefined;
  /** False: what is stored is not held in memory any longer. */
  isRead = true;

  private constructor(start: number, held: Uint8Array<ArrayBuffer>) {
    this.#start = start;
    this.#held = held;
    this.#bytes = start + held.length;
  }

  /** A file with new content, which is copied. */
  static of(content: Uint8Array): MemoryFile {
    return new MemoryFile(0, content.slice());
  }

  /** A file that is stored. Without `content` it can only be appended to. */
  static stored(bytes: number, content: Uint8Array<ArrayBuffer> | undefined): MemoryFile {
    const file = content ? new MemoryFile(0, content) : new MemoryFile(bytes, new Uint8Array());
    file.#storedBytes = bytes;
    return file;
  }

  get bytes(): number {
    return this.#bytes;
  }

  /** The number of leading bytes that match the stored file. Undefined: the whole file must be written. */
  get storedBytes(): number | undefined {
    return this.#storedBytes;
  }

  /** The first `bytes` bytes are stored. */
  markStored(bytes: number): void {
    this.#storedBytes = bytes;
    if (this.isRead) return;
    this.#held = this.tail(bytes).slice();
    this.#start = bytes;
  }

  /** Whether the whole content is in memory. */
  get isComplete(): boolean {
    return this.#start === 0;
  }

  append(bytes: Uint8Array): void {
    const from = this.#bytes - this.#start;
    if (from + bytes.length > this.#held.length) {
      const larger = new Uint8Array(Math.max(2 * this.#held.length, from + bytes.length));
      larger.set(this.#held.subarray(0, from));
      this.#held = larger;
    }
    this.#held.set(bytes, from);
    this.#bytes += bytes.length;
  }

  /** Fills `into` from a position. Returns the number of bytes. */
  read(into: Uint8Array, from: number): number {
    const read = this.tail(from).subarray(0, into.length);
    into.set(read);
    return read.length;
  }

  content(): Uint8Array<ArrayBuffer> {
    return this.tail(0);
  }

  /** The bytes from a position on. Valid until the next `append`. */
  tail(from: number): Uint8Array<ArrayBuffer> {
    if (from < this.#start) {
      throw new AccError('ACC_STORAGE_FAILED', `The first ${this.#start} bytes of a file were not loaded.`, {
        help: 'Read from that place on.',
      });
    }
    return this.#held.subarray(from - this.#start, this.#bytes - this.#start);
  }
}
