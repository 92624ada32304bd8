import { tensor1d, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type RandomLayer } from '@acc/contract';

/** From where draws go on: plain values. */
export interface DrawsState {
  readonly seed: number;
  /** Batches that the loop has begun. */
  readonly batches: number;
  /** Draws since the last of them. */
  readonly draws: number;
}

/** Which numbers random operators draw: as for the batch of all ranks, whatever piece of it this one has. */
export class Draws implements RandomLayer {
  #seed: number;
  #batches = 0;
  #draws = 0;
  /** This rank's rows of the batch that the loop works on. */
  #rows: number | undefined;

  /** @param firstShard The virtual shard of this rank's first piece. */
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

  /** The loop goes on with a batch of so many rows of this rank; undefined: it has ended. */
  beginBatch(rows: number | undefined): void {
    this.#rows = rows;
    // What is drawn after the last batch goes on counting.
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
      throw new AccError('ACC_STATE_INVALID', 'This is no state of deterministic draws.');
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

  /** Whether what is drawn in this shape has something for each row of the batch. */
  hasRows(shape: readonly number[]): boolean {
    return this.#rows !== undefined && shape[0] !== undefined && shape[0] > 0 && shape[0] % this.#rows === 0;
  }

  /** A whole number, below 2³², for the next draw of all ranks. */
  next(): number {
    return this.#numberOf(this.#draws++, 0);
  }

  /** The same for one of this rank's pieces, beginning with the first; without a piece, for what all ranks draw alike. */
  nextOf(piece?: number): number {
    if (piece === undefined || piece === 0) this.#draws++;
    return this.#numberOf(this.#draws, piece === undefined ? 0 : 1 + this.firstShard + piece);
  }

  #numberOf(draw: number, shard: number): number {
    return [...wordsOf(this.#seed), this.#batches, draw, shard].reduce(mixed, 0);
  }
}

const WORD = 2 ** 32;

/** The halves of a whole number. */
function wordsOf(seed: number): [high: number, low: number] {
  return [Math.floor(seed / WORD), seed | 0];
}

/** By the finalizer of MurmurHash3 (Appleby, 2011). */
function mixed(hash: number, value: number): number {
  let h = Math.imul(hash ^ value, 0x9e3779b1) + 0x7f4a7c15;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return (h ^ (h >>> 16)) >>> 0;
}
