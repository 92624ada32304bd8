/** As in cpp/engine/recording/call_times.h. */
const REPLAYS = 32;

/** How long replays take: moving means over the last ones, in milliseconds. */
export class ReplayTimes {
  #replays = 0;
  #replayMs = 0;
  readonly #actionsMs = new Map<string, number>();

  /** The number of replays that have ended. */
  get replays(): number {
    return this.#replays;
  }

  /** A whole replay. */
  get replayMs(): number {
    return this.#replayMs;
  }

  /** The actions of a replay, by what they do: JavaScript between native calls. */
  get actionsMs(): ReadonlyMap<string, number> {
    return this.#actionsMs;
  }

  add(replayMs: number, actionsMs: ReadonlyMap<string, number>): void {
    const weight = 1 / Math.min(++this.#replays, REPLAYS);
    this.#replayMs += weight * (replayMs - this.#replayMs);
    for (const what of new Set([...this.#actionsMs.keys(), ...actionsMs.keys()])) {
      const before = this.#actionsMs.get(what) ?? 0;
      this.#actionsMs.set(what, before + weight * ((actionsMs.get(what) ?? 0) - before));
    }
  }
}
