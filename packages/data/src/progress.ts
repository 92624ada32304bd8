import { AccError } from '@acc/contract';

/** The position of a loop in its data: plain values, the same on every rank. */
export interface DataPosition {
  /** The number of the current or next iteration, from 0. */
  readonly epoch: number;
  /**
   * How much of it all ranks together have received: samples of a loader, batches of a list or of a
   * tf.data dataset.
   */
  readonly position: number;
  /** Whether this is the end of the iteration. */
  readonly isAtEnd?: boolean;
}

/** One iteration. */
export interface Iteration {
  readonly epoch: number;
  /** The position at which a resumed iteration starts. 0 if it was not resumed. */
  readonly from: number;
  advance(position: number, isAtEnd: boolean): void;
  end(): void;
}

/**
 * Counts the iterations of some data and tracks the position of the current one. Shards of the same
 * data share it.
 */
export class Progress {
  #next = 0;
  #active: { epoch: number; position: number; isAtEnd: boolean } | undefined;
  #resumed: DataPosition | undefined;

  /** Whether an iteration has begun and not ended. */
  get isActive(): boolean {
    return this.#active !== undefined;
  }

  begin(): Iteration {
    const epoch = this.#next++;
    const from = this.#resumed?.epoch === epoch ? this.#resumed.position : 0;
    this.#resumed = undefined;
    const own = { epoch, position: from, isAtEnd: false };
    this.#active = own;
    return {
      epoch,
      from,
      advance: (position, isAtEnd) => void Object.assign(own, { position, isAtEnd }),
      end: () => {
        if (this.#active === own) this.#active = undefined;
      },
    };
  }

  /**
   * Makes epoch `epoch` the next iteration. A resumed position is kept only if it is in this epoch.
   */
  goTo(epoch: number): void {
    this.#next = epoch;
    if (this.#resumed?.epoch !== epoch) this.#resumed = undefined;
  }

  /** If the resumed position is the end of an iteration, moves on to the next iteration. */
  passEnd(): void {
    if (!this.#resumed?.isAtEnd) return;
    this.#next = this.#resumed.epoch + 1;
    this.#resumed = undefined;
  }

  getState(): DataPosition {
    return { ...(this.#active ?? this.#resumed ?? { epoch: this.#next, position: 0 }) };
  }

  /** Resumes at a position. @throws AccError `ACC_STATE_INVALID`. */
  setState(state: DataPosition): void {
    const { epoch, position } = state;
    for (const count of [epoch, position]) {
      if (Number.isSafeInteger(count) && count >= 0) continue;
      throw new AccError('ACC_STATE_INVALID', `${String(count)} is not a position in data.`);
    }
    this.#next = epoch;
    this.#active = undefined;
    this.#resumed = { ...state };
  }
}
