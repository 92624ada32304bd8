import { schemeOf } from './open-source.js';
import type { OnScan } from './read-forward.js';
import type { Source } from './source.js';

/** The bytes of one read. A server takes time for each request, and a local disk for bytes that are skipped. */
const WINDOW_BYTES = { remote: 8 * 1024 * 1024, local: 256 * 1024 };

/** Reads the headers of records, from the start of a file to its end. What a window does not reach is skipped. */
export class FramingReader {
  #window: Uint8Array = new Uint8Array(0);
  #at = 0;
  readonly #windowBytes: number;

  constructor(
    readonly source: Source,
    private readonly onScan: OnScan,
  ) {
    this.#windowBytes = WINDOW_BYTES[schemeOf(source.name) === 'file' ? 'local' : 'remote'];
  }

  /** `count` bytes from a position. Valid until the next call. Undefined if the file ends before. */
  async bytes(at: number, count: number): Promise<Uint8Array | undefined> {
    const { bytes: total, name: file } = this.source;
    if (at + count > total) return undefined;
    if (at < this.#at || at + count > this.#at + this.#window.length) {
      const end = Math.min(at + Math.max(count, this.#windowBytes), total);
      this.#window = await this.source.read(at, end);
      this.#at = at;
      this.onScan({ file, bytesDone: end, bytesTotal: total });
    }
    return this.#window.subarray(at - this.#at, at - this.#at + count);
  }

  /** The same without waiting, if the bytes are in memory. */
  loaded(at: number, count: number): Uint8Array | undefined {
    const from = at - this.#at;
    if (from < 0 || from + count > this.#window.length) return undefined;
    return this.#window.subarray(from, from + count);
  }
}
