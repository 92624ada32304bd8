import { formatWords, type Words } from '../agreement.js';
import { captureSite, lineOf, type CallSite } from './call-sites.js';

/** Calls that are kept. */
const CALLS = 64;

interface Entry {
  readonly number: number;
  readonly call: Words | string;
  readonly at: number;
  readonly site: CallSite;
}

/** A call as it is told to people. */
export interface RecordedCall {
  /** Of the group's collectives, from 1, alike on every rank; 0 of messages. */
  readonly number: number;
  /** With dtype and shape: `allReduce(float32[2,3], 'sum')`. */
  readonly call: string;
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  /** The program's line that made it, where there is one. */
  readonly line?: string;
}

/** The last calls of this rank, always kept. */
export class FlightRecorder {
  readonly #ring: Entry[] = [];
  #count = 0;

  record(number: number, call: Words | string): void {
    this.#ring[this.#count++ % CALLS] = { number, call, at: Date.now(), site: captureSite() };
  }

  /** Oldest first. */
  calls(): RecordedCall[] {
    const start = this.#count % this.#ring.length;
    return [...this.#ring.slice(start), ...this.#ring.slice(0, start)].map(({ number, call, at, site }) => {
      const line = lineOf(site);
      return { number, call: typeof call === 'string' ? call : formatWords(call), at, ...(line && { line }) };
    });
  }
}
