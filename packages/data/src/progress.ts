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
  /** The checksum of the order of the samples, of a loader whose samples are numbered. */
  readonly order?: number;
}

/** One iteration. */
export interface Iteration {
  readonly epoch: number;
  /** The position at which a resumed iteration starts. 0 if it was not resumed. */
  readonly from: number;
  /**
   * Notes the checksum of the iteration's order.
   *
   * @throws AccError `ACC_DATA_ORDER` if it was resumed in the middle of another order.
   */
  inOrder(checksum: number): void;
  advance(position: number, isAtEnd: boolean): void;
  end(): void;
}

interface ActiveIteration {
  readonly epoch: number;
  position: number;
  isAtEnd: boolean;
  order?: number;
}

/**
 * Counts the iterations of some data and tracks the position of the current one. Shards of the same
 * data share it.
 */
export class Progress {
  #next = 0;
  #active: ActiveIteration | undefined;
  #resumed: DataPosition | undefined;

  /** Whether an iteration has begun and not ended. */
  get isActive(): boolean {
    return this.#active !== undefined;
  }

  begin(): Iteration {
    const epoch = this.#next++;
    const resumed = this.#resumed?.epoch === epoch ? this.#resumed : undefined;
    const from = resumed?.position ?? 0;
    this.#resumed = undefined;
    const own: ActiveIteration = { epoch, position: from, isAtEnd: false };
    this.#active = own;
    return {
      epoch,
      from,
      inOrder: (checksum) => {
        if (from > 0 && resumed?.order !== undefined && resumed.order !== checksum) {
          throw otherOrder(epoch, from);
        }
        own.order = checksum;
      },
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
      throw new AccError('ACC_STATE_INVALID', `${String(count)} is not a position in data.`, {
        help: 'Load another checkpoint: this one was changed.',
      });
    }
    this.#next = epoch;
    this.#active = undefined;
    this.#resumed = { ...state };
  }
}

function otherOrder(epoch: number, position: number): AccError {
  return new AccError(
    'ACC_DATA_ORDER',
    `The data cannot continue at sample ${position} of epoch ${epoch}: the order of its samples is not the one of the checkpoint, so that samples would be missing and others repeated.`,
    {
      help: 'Use the same dataset, seed and sampler options as in the run that saved. A batchSize of blockSampler must not depend on the number of ranks. To go on with other data, call setEpoch with the next epoch.',
      details: { epoch, position },
    },
  );
}
