import { AccError } from '@acc/contract';

/** How far into its data a loop has come: plain values, the same on every rank. */
export interface DataPosition {
  /** The number of the present iteration, or the next one, from 0. */
  readonly epoch: number;
  /** What all ranks together have been given of it: samples of a loader, batches of a list or of a tf.data dataset. */
  readonly position: number;
  /** Whether that was all. */
  readonly isAtEnd?: boolean;
}

/** One iteration. */
export interface Iteration {
  readonly epoch: number;
  /** What of it was given out before it began, in a program that this one goes on from. */
  readonly from: number;
  advance(position: number, isAtEnd: boolean): void;
  end(): void;
}

/** Which iteration of some data comes next, and how far the present one is. Parts of the same data share it. */
export class Progress {
  #next = 0;
  #active: { epoch: number; position: number; isAtEnd: boolean } | undefined;
  #resumed: DataPosition | undefined;

  /** Whether one has begun and not ended. */
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

  /** The next iteration is epoch `epoch`. One that was to go on from somewhere within does so if it is that. */
  goTo(epoch: number): void {
    this.#next = epoch;
    if (this.#resumed?.epoch !== epoch) this.#resumed = undefined;
  }

  /** Where the next iteration was to go on at the end of another, it is the one after that. */
  passEnd(): void {
    if (!this.#resumed?.isAtEnd) return;
    this.#next = this.#resumed.epoch + 1;
    this.#resumed = undefined;
  }

  getState(): DataPosition {
    return { ...(this.#active ?? this.#resumed ?? { epoch: this.#next, position: 0 }) };
  }

  /** The next iteration goes on from there. @throws AccError `ACC_STATE_INVALID`. */
  setState(state: DataPosition): void {
    const { epoch, position } = state;
    for (const count of [epoch, position]) {
      if (Number.isSafeInteger(count) && count >= 0) continue;
      throw new AccError('ACC_STATE_INVALID', `${String(count)} is no position in data.`);
    }
    this.#next = epoch;
    this.#active = undefined;
    this.#resumed = { ...state };
  }
}
