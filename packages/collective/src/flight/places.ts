import type { GroupEngine } from '../group-engine.js';
import { placeText, type RecordedCall } from './recorder.js';

/** Tells the ranks of a group where each of them made the call in which they differ. */
export class Places {
  #mismatches = 0;

  constructor(private readonly group: GroupEngine) {}

  /**
   * Every rank calls it after a call in which they differ. A program may catch that error, and differ again.
   *
   * @param numbers The number of that call on each rank; 0 if a rank did not come to it.
   * @param own The last calls of this rank.
   * @returns By rank, the line of that call or of the rank's last one. Undefined: it is not known.
   */
  of(numbers: readonly number[], own: readonly RecordedCall[]): (string | undefined)[] {
    const topic = `mismatch ${++this.#mismatches}`;
    this.group.publish(topic, JSON.stringify(own));
    return this.group.accounts(topic).map(({ report }, rank) => {
      const calls = rank === this.group.rank ? own : report ? (JSON.parse(report) as RecordedCall[]) : [];
      const call = calls.find(({ number }) => number > 0 && number === numbers[rank]) ?? calls.at(-1);
      return call?.line && placeText(call.line, call.number !== numbers[rank] || (call.isNear ?? false));
    });
  }
}
