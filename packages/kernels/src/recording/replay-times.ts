/** As in cpp/engine/call_times.h. */
const REPLAYS = 32;

/** How long replays take: moving means over the last ones, in milliseconds. */
export class ReplayTimes {
  #replays = 0;
  #replayMs = 0;
  #actionsMs = 0;

  /** The number of replays that have ended. */
  get replays(): number {
    return this.#replays;
  }

  /** A whole replay. */
  get replayMs(): number {
    return this.#replayMs;
  }

  /** The actions of a replay: JavaScript between native calls. */
  get actionsMs(): number {
    return this.#actionsMs;
  }

  add(replayMs: number, actionsMs: number): void {
    const weight = 1 / Math.min(++this.#replays, REPLAYS);
    this.#replayMs += weight * (replayMs - this.#replayMs);
    this.#actionsMs += weight * (actionsMs - this.#actionsMs);
  }
}
