import { formatWords, type Words } from '../agreement.js';
import { captureSite, lineOf, type CallSite } from './call-sites.js';
import { shareCall } from './shared-calls.js';

/** The number of calls that are kept. */
const CALLS = 64;
/** Milliseconds for which one captured source line stands for the calls that follow. */
const NEAR_MS = 100;
/** The first calls of a group are few, and each has its own line. */
const FIRST_CALLS = 32;

interface Entry {
  readonly number: number;
  readonly call: Words | string;
  readonly at: number;
  /**
   * The captured source line. If `isOwnSite` is false, it belongs to an earlier call, some
   * milliseconds before.
   */
  site: CallSite;
  isOwnSite: boolean;
}

/** A call as error reports show it. */
export interface RecordedCall {
  /**
   * The call's position among the collectives of its group, from 1, the same on every rank. 0 for a
   * message.
   */
  readonly number: number;
  /** The call with dtype and shape: `allReduce(float32[2,3], 'sum')`. */
  readonly call: string;
  /** The time at which it began, in milliseconds since 1970. */
  readonly at: number;
  /**
   * The line of the program that made the call. With `isNear`, the line of another call some
   * milliseconds before.
   */
  readonly line?: string;
  readonly isNear?: boolean;
}

/** The words for a line of the program: that of the call itself, or only the last known one. */
export function placeText(line: string, isNear: boolean): string {
  return isNear ? `last known line: ${line}` : `at ${line}`;
}

/**
 * Keeps the last calls of this rank. Capturing a caller's line takes longer than a small
 * collective, so after the first calls it happens at most once in {@link NEAR_MS} milliseconds.
 */
export class FlightRecorder {
  readonly #ring: Entry[] = [];
  #count = 0;
  #siteAt = 0;
  #site: CallSite = {};

  /** @returns Whether the call's own line was captured. */
  record(number: number, call: Words | string): boolean {
    const at = Date.now();
    const isFirst = number > 0 && number <= FIRST_CALLS;
    const isOwnSite = isFirst || Math.abs(at - this.#siteAt) >= NEAR_MS;
    if (isOwnSite) {
      this.#siteAt = at;
      this.#site = captureSite();
    }
    this.#ring[this.#count++ % CALLS] = { number, call, at, site: this.#site, isOwnSite };
    shareCall(call, at);
    return isOwnSite;
  }

  /** The line that was captured last. */
  get lastLine(): string | undefined {
    return lineOf(this.#site);
  }

  /**
   * Called where the last call fails. Its caller is then still on the stack, so that its line is known
   * even if it was not captured before.
   */
  locateLast(): void {
    const last = this.#ring[(this.#count - 1) % CALLS];
    if (!last || last.isOwnSite) return;
    const site = captureSite();
    if (lineOf(site) === undefined) return;
    last.site = site;
    last.isOwnSite = true;
  }

  /** The recorded calls, oldest first. */
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
