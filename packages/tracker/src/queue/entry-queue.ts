import { dirname, files } from '@acc/platform';
import { encodeEntry } from '../entry-json.js';
import { bytesOf, type Entry } from '../entry.js';
import { SpoolFile } from './spool-file.js';

export interface QueueLimits {
  /** The number of entries in memory. Further entries go to disk. */
  readonly memoryEntries: number;
  readonly memoryBytes: number;
  /** The size limit of the file. Further entries are lost. */
  readonly diskBytes: number;
}

/** This many entries are written to the file together. */
const TAIL_ENTRIES = 256;
/**
 * This many entries of the file are also kept in memory. It is at least as many as one call takes.
 */
const FRONT_ENTRIES = 512;

/**
 * A first-in, first-out queue in memory. It also uses a file when it gets long, or when entries
 * must outlive the process. `peek` reads entries and `drop` removes them, so entries that were not
 * sent completely stay in the queue.
 */
export class EntryQueue {
  readonly #limits: QueueLimits;
  readonly #disk: SpoolFile;
  /**
   * The next entries. If a file is in use, they are also in the file. `#offsets` holds the offset
   * after each.
   */
  #front: Entry[] = [];
  #offsets: number[] | undefined;
  /** Entries after those in the file that are not written yet. */
  #tail: Entry[] = [];
  /** The approximate memory of both lists, in bytes. */
  #frontBytes = 0;
  #tailBytes = 0;
  #waiting = 0;

  /** The number of entries for which neither memory nor disk had room. */
  lost = 0;
  /** The error because of which nothing can be written to disk. */
  diskError: Error | undefined;

  /**
   * @param path The path of the file, which is created when it is needed. An existing file is
   * continued.
   */
  constructor(path: string, limits: QueueLimits) {
    this.#limits = limits;
    this.#disk = new SpoolFile(path);
    if (!this.#disk.isRead) this.#offsets = [];
  }

  get isEmpty(): boolean {
    return this.#front.length === 0 && this.#tail.length === 0 && this.#disk.isRead;
  }

  /** The number of waiting entries, without those of a file from an earlier process. */
  get length(): number {
    return this.#waiting;
  }

  /** The number of waiting entries that are only in memory. */
  get inMemory(): number {
    return (this.#offsets ? this.#tail : this.#front).length;
  }

  /** The path of the file with unsent entries. Undefined if all entries are in memory. */
  get path(): string | undefined {
    return this.#offsets && this.#disk.path;
  }

  push(entry: Entry): void {
    const { memoryEntries, memoryBytes } = this.#limits;
    const bytes = bytesOf(entry);
    this.#waiting++;
    if (this.#offsets) {
      this.#tail.push(entry);
      this.#tailBytes += bytes;
      if (this.#tail.length >= TAIL_ENTRIES || this.#tailBytes > memoryBytes) this.spill();
      return;
    }
    this.#front.push(entry);
    this.#frontBytes += bytes;
    if (this.#front.length > memoryEntries || this.#frontBytes > memoryBytes) this.spill();
  }

  /** The next entries, at most `count`, without removing them. */
  peek(count: number): readonly Entry[] {
    if (this.#front.length === 0) this.#refill();
    return this.#front.slice(0, count);
  }

  /** Removes the next `count` entries, which were sent or refused. */
  drop(count: number): void {
    const dropped = this.#front.splice(0, count);
    this.#frontBytes -= sumOfBytes(dropped);
    this.#waiting = Math.max(0, this.#waiting - dropped.length);
    if (!this.#offsets) return;
    const offset = this.#offsets.splice(0, count).at(-1);
    if (this.isEmpty) this.#leaveDisk();
    else if (offset !== undefined) this.#markSent(offset);
  }

  /** Writes all entries that are not on disk yet. */
  spill(): void {
    try {
      if (this.#offsets) return this.#writeTail();
      if (this.#front.length === 0) return;
      files.makeFolder(dirname(this.#disk.path));
      this.#offsets = this.#disk.append(this.#front.map(encodeEntry));
      this.#frontBytes -= sumOfBytes(this.#front.splice(FRONT_ENTRIES));
      this.#offsets.splice(FRONT_ENTRIES);
      this.#disk.skipTo(this.#offsets.at(-1)!);
    } catch (error) {
      this.diskError = error as Error;
      this.#loseNewest();
    }
  }

  close(): void {
    this.#disk.close();
  }

  /** Discards the queue and its file. */
  remove(): void {
    this.#front = [];
    this.#tail = [];
    this.#frontBytes = this.#tailBytes = this.#waiting = 0;
    this.#leaveDisk();
  }

  /** Without the mark, another process would send the entries again. */
  #markSent(offset: number): void {
    try {
      this.#disk.markSent(offset);
    } catch (error) {
      this.diskError = error as Error;
    }
  }

  #writeTail(): void {
    if (this.#disk.sizeBytes > this.#limits.diskBytes) this.#lose(this.#tail.length);
    else this.#disk.append(this.#tail.map(encodeEntry));
    this.#tail = [];
    this.#tailBytes = 0;
  }

  #refill(): void {
    if (!this.#offsets) return;
    if (this.#disk.isRead) {
      this.#front = this.#tail;
      this.#frontBytes = this.#tailBytes;
      this.#tail = [];
      this.#tailBytes = 0;
      this.#leaveDisk();
      return;
    }
    const read = this.#disk.read();
    this.#front = read.map(({ entry }) => entry);
    this.#offsets = read.map(({ endBytes }) => endBytes);
    this.#frontBytes = sumOfBytes(this.#front);
    if (read.length === 0) this.#refill();
  }

  #leaveDisk(): void {
    this.#offsets = undefined;
    this.#disk.remove();
  }

  /**
   * Drops the newest entries and keeps the oldest ones in memory, because the disk cannot be
   * written.
   */
  #loseNewest(): void {
    const kept = Math.floor(this.#limits.memoryEntries / 2);
    if (this.#offsets) {
      this.#lose(this.#tail.splice(kept).length);
      this.#tailBytes = sumOfBytes(this.#tail);
    } else {
      this.#lose(this.#front.splice(kept).length);
      this.#frontBytes = sumOfBytes(this.#front);
    }
  }

  #lose(count: number): void {
    this.lost += count;
    this.#waiting -= count;
  }
}

function sumOfBytes(entries: readonly Entry[]): number {
  return entries.reduce((sum, entry) => sum + bytesOf(entry), 0);
}
