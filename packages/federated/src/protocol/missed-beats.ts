/** The longest interval of a timer, in milliseconds. A timer with a longer one fires at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** The number of intervals without a message after which a connection counts as lost. */
const MISSED_BEATS = 4;

/**
 * Notices that a peer is silent. It counts ticks of a timer, not time: while the program computes
 * and cannot read messages, no ticks are counted either.
 */
export class MissedBeats {
  readonly #timer: ReturnType<typeof setInterval>;
  #missed = 0;

  /** @param onTick Called in each interval before a loss is noticed. */
  constructor(intervalMs: number, onLost: () => void, onTick: () => void = () => {}) {
    this.#timer = setInterval(() => {
      if (++this.#missed > MISSED_BEATS) {
        this.stop();
        onLost();
      } else onTick();
    }, intervalMs);
  }

  /** Called for each message of the peer. */
  heard(): void {
    this.#missed = 0;
  }

  stop(): void {
    clearInterval(this.#timer);
  }
}
