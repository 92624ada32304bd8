import { changed } from '../errors.js';
import type { Source, SourceState } from './source.js';

/** The answer of a server to a request for a range. */
interface RangeAnswer {
  readonly status: number;
  readonly bytes: Uint8Array;
  /** Of the content, as in {@link Source.tag}. */
  readonly tag: string;
}

/**
 * A file that a server sends in ranges: `bytes=first-last`.
 *
 * @param name As messages show it.
 * @param ask Requests a range of at most so many bytes. A file that ends before it (status 416) is an
 * answer, too.
 */
export function rangedSource(
  name: string,
  state: SourceState,
  ask: (range: string, maxBytes: number) => Promise<RangeAnswer>,
): Source {
  const { bytes, tag } = state;
  return {
    name,
    bytes,
    tag,
    state,
    async read(start, end) {
      if (start >= end) return new Uint8Array(0);
      const answer = await ask(rangeOf(start, end), end - start);
      if (answer.tag !== tag) throw changed(name, `its version is ${answer.tag}, and was ${tag}`);
      if (answer.status === 206 && answer.bytes.length === end - start) return answer.bytes;
      throw changed(name, `it has no ${end - start} bytes from byte ${start}`);
    },
  };
}

/** The header of a request for the bytes from `start` up to `end`. */
export const rangeOf = (start: number, end: number): string => `bytes=${start}-${end - 1}`;
