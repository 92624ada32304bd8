import { formatWords, type Words } from '../agreement.js';
import { captureSite, lineOf, type CallSite } from './call-sites.js';

/** Calls that are kept. */
const CALLS = 64;
/** Milliseconds for which a caller's line stands for the calls after it. */
const NEAR_MS = 100;

interface Entry {
  readonly number: number;
  readonly call: Words | string;
  readonly at: number;
  /** Of an earlier call, some milliseconds before, where `isOwnSite` is false. */
  readonly site: CallSite;
  readonly isOwnSite: boolean;
}

/** A call as it is told to people. */
export interface RecordedCall {
  /** Of the group's collectives, from 1, alike on every rank; 0 of messages. */
  readonly number: number;
  /** With dtype and shape: `allReduce(float32[2,3], 'sum')`. */
  readonly call: string;
  /** When it began, in milliseconds since 1970. */
  readonly at: number;
  /** The program's line that made it, or one that made another call some milliseconds before, `isNear`. */
  readonly line?: string;
  readonly isNear?: boolean;
}

/**
 * The last calls of this rank, always kept. To find a caller's line takes longer than a small collective, so it is done once in a hundred
 * milliseconds at most.
 */
export class FlightRecorder {
  readonly #ring: Entry[] = [];
  #count = 0;
  #siteAt = 0;
  #site: CallSite = {};

  record(number: number, call: Words | string): void {
    const at = Date.now();
    const isOwnSite = Math.abs(at - this.#siteAt) >= NEAR_MS;
    if (isOwnSite) {
      this.#siteAt = at;
      this.#site = captureSite();
    }
    this.#ring[this.#count++ % CALLS] = { number, call, at, site: this.#site, isOwnSite };
  }

  /** `at` the program's line that made a call, or `near` the line of another call some milliseconds before. */
  placeOf(number: number): string | undefined {
    const entry = this.#ring.find((one) => one.number === number);
    if (!entry) return undefined;
    const line = lineOf(entry.site);
    return line && `${entry.isOwnSite ? 'at' : 'near'} ${line}`;
  }

  /** Oldest first. */
  calls(): RecordedCall[] {
    const start = this.#count % this.#ring.length;
    return [...this.#ring.slice(start), ...this.#ring.slice(0, start)].map((entry) => {
      const { number, call, at, site, isOwnSite } = entry;
      const line = lineOf(site);
      return {
        number,
        call: typeof call === 'string' ? call : formatWords(call),
        at,
        ...(line && { line }),
        ...(line && !isOwnSite && { isNear: true }),
      };
    });
  }
}
