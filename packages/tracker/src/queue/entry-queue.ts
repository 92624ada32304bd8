import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { encodeEntry } from '../entry-json.js';
import { bytesOf, type Entry } from '../entry.js';
import { SpoolFile } from './spool-file.js';

export interface QueueLimits {
  /** Entries in memory; more go to disk. */
  readonly memoryEntries: number;
  readonly memoryBytes: number;
  /** What the file may hold; more is lost. */
  readonly diskBytes: number;
}

/** So many entries behind those on disk are written together. */
const TAIL_ENTRIES = 256;
/** So many of those on disk stay in memory, too: no fewer than a call takes. */
const FRONT_ENTRIES = 512;

/**
 * First in, first out, in memory; and in a file when it gets long, or when what waits shall outlive the process. Entries are
 * taken by `peek` and leave by `drop`, so that what was not sent to its end is still there.
 */
export class EntryQueue {
  readonly #limits: QueueLimits;
  readonly #disk: SpoolFile;
  /** The next ones. Where a file is in use they are in it, too, each ending at an offset. */
  #front: Entry[] = [];
  #offsets: number[] | undefined;
  /** Behind those in the file, and not yet in it. */
  #tail: Entry[] = [];
  /** About what the two take of memory. */
  #frontBytes = 0;
  #tailBytes = 0;
  #waiting = 0;

  /** Entries that neither memory nor disk had room for. */
  lost = 0;
  /** Why the disk takes nothing. */
  diskError: Error | undefined;

  /** @param path Where the file is, once it is needed. One that is there is taken up. */
  constructor(path: string, limits: QueueLimits) {
    this.#limits = limits;
    this.#disk = new SpoolFile(path);
    if (!this.#disk.isRead) this.#offsets = [];
  }

  get isEmpty(): boolean {
    return this.#front.length === 0 && this.#tail.length === 0 && this.#disk.isRead;
  }

  /** How many wait, without those of a file that was taken up. */
  get length(): number {
    return this.#waiting;
  }

  /** Where entries lie that did not leave in time; undefined where all are in memory. */
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

  /** The next entries, at most `count`, without taking them out. */
  peek(count: number): readonly Entry[] {
    if (this.#front.length === 0) this.#refill();
    return this.#front.slice(0, count);
  }

  /** Takes out the next `count`: they have arrived, or never will. */
  drop(count: number): void {
    const dropped = this.#front.splice(0, count);
    this.#frontBytes -= sumOfBytes(dropped);
    this.#waiting = Math.max(0, this.#waiting - dropped.length);
    if (!this.#offsets) return;
    const offset = this.#offsets.splice(0, count).at(-1);
    if (offset !== undefined) this.#disk.markSent(offset);
    if (this.isEmpty) this.#leaveDisk();
  }

  /** Writes everything that is not on disk yet. */
  spill(): void {
    try {
      if (this.#offsets) return this.#writeTail();
      if (this.#front.length === 0) return;
      mkdirSync(dirname(this.#disk.path), { recursive: true });
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

  /** Nothing of it is wanted any more. */
  remove(): void {
    this.#front = [];
    this.#tail = [];
    this.#frontBytes = this.#tailBytes = this.#waiting = 0;
    this.#leaveDisk();
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

  /** With a disk that takes nothing, memory keeps what it can of the oldest. */
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
