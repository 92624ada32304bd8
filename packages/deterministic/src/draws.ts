import { tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RandomLayer } from '@acc/contract';

/** The position in the sequence of draws, as plain values. */
export interface DrawsState {
  readonly seed: number;
  /** The number of batches that the loop has begun. */
  readonly batches: number;
  /** The number of draws since the start of the last batch. */
  readonly draws: number;
}

/**
 * Determines the numbers that random operators draw. They are those of the batch of all ranks,
 * whichever part of it this rank has.
 */
export class Draws implements RandomLayer {
  #seed: number;
  #batches = 0;
  #draws = 0;
  /** The number of this rank's rows in the current batch. */
  #rows: number | undefined;

  /** @param firstShard The virtual shard of this rank's first shard. */
  constructor(
    seed: number,
    private readonly firstShard: number,
  ) {
    this.#seed = seed;
  }

  seed(seed: number): void {
    this.#seed = seed;
    this.#batches = 0;
    this.#draws = 0;
  }

  /** Begins a batch with this number of rows on this rank. Undefined ends the loop. */
  beginBatch(rows: number | undefined): void {
    this.#rows = rows;
    // Draws after the last batch continue its count.
    if (rows === undefined) return;
    this.#batches++;
    this.#draws = 0;
  }

  getState(): DrawsState {
    return { seed: this.#seed, batches: this.#batches, draws: this.#draws };
  }

  /** @throws AccError `ACC_STATE_INVALID`. */
  setState({ seed, batches, draws }: DrawsState): void {
    if (![seed, batches, draws].every((value) => Number.isSafeInteger(value) && value >= 0)) {
      throw new AccError('ACC_STATE_INVALID', 'This value is not a state of deterministic draws.', {
        help: 'Load another checkpoint: this one was changed.',
      });
    }
    this.#seed = seed;
    this.#batches = batches;
    this.#draws = draws;
  }

  state(): Tensor {
    return tensor1d([...wordsOf(this.#seed), this.#batches, this.#draws], 'int32');
  }

  exchange(state: Tensor): Tensor {
    const before = this.state();
    const [high, low, batches, draws] = Array.from(state.dataSync()) as [number, number, number, number];
    this.setState({ seed: high * WORD + (low >>> 0), batches, draws });
    return before;
  }

  /** Whether a tensor of this shape has an entry for each row of the batch. */
  hasRows(shape: readonly number[]): boolean {
    return this.#rows !== undefined && shape[0] !== undefined && shape[0] > 0 && shape[0] % this.#rows === 0;
  }

  /** An integer below 2³² for the next draw, the same on all ranks. */
  next(): number {
    return this.#numberOf(this.#draws++, 0);
  }

  /**
   * An integer below 2³² for the next draw of one of this rank's shards, counted from the first.
   * Without `shard`, it is the same on all ranks.
   */
  nextOf(shard?: number): number {
    if (shard === undefined || shard === 0) this.#draws++;
    return this.#numberOf(this.#draws, shard === undefined ? 0 : 1 + this.firstShard + shard);
  }

  #numberOf(draw: number, shard: number): number {
    return [...wordsOf(this.#seed), this.#batches, draw, shard].reduce(mixed, 0);
  }
}

const WORD = 2 ** 32;

/** The high and low halves of an integer. */
function wordsOf(seed: number): [high: number, low: number] {
  return [Math.floor(seed / WORD), seed | 0];
}

/** Mixes two numbers with the finalizer of MurmurHash3 (Appleby, 2011). */
function mixed(hash: number, value: number): number {
  let h = Math.imul(hash ^ value, 0x9e3779b1) + 0x7f4a7c15;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
