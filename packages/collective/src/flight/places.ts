import type { GroupEngine } from '../group-engine.js';
import { placeText, type RecordedCall } from './recorder.js';

/** Ranks that have no report yet are asked again so often, after so many milliseconds. */
const TRIES = 50;
const PAUSE_MS = 20;

/** Tells the ranks of a group where each of them made the call in which they differ. */
export class Places {
  #hasPublished = false;

  constructor(private readonly group: GroupEngine) {}

  /**
   * Every rank calls it after a call in which they differ.
   *
   * @param numbers The number of that call on each rank; 0 if a rank did not come to it.
   * @param own The last calls of this rank.
   * @returns By rank, the line of that call or of the rank's last one. Undefined: it is not known.
   */
  of(numbers: readonly number[], own: readonly RecordedCall[]): (string | undefined)[] {
    this.group.publish(JSON.stringify(own));
    this.#hasPublished = true;
    return this.#reports().map((report, rank) => {
      const calls = rank === this.group.rank ? own : report ? (JSON.parse(report) as RecordedCall[]) : [];
      const call = calls.find(({ number }) => number > 0 && number === numbers[rank]) ?? calls.at(-1);
      return call?.line && placeText(call.line, call.number !== numbers[rank] || (call.isNear ?? false));
    });
  }

  /** Called before each further call of the group: a later report must not be mistaken for this one. */
  forget(): void {
    if (!this.#hasPublished) return;
    this.#hasPublished = false;
    this.group.publish('');
  }

  /** Undefined for a rank that does not report. */
  #reports(): (string | undefined)[] {
    for (let tries = 1; ; tries++) {
      const reports = this.group.accounts().map(({ report }) => report);
      if (tries === TRIES || !reports.includes('')) return reports;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, PAUSE_MS);
    }
  }
}
