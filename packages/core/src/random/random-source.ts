import { AccError } from '@acc/contract';
import { randomWords, type RandomWords } from '@acc/data';
import { fraction53 } from '@acc/platform';

/** The state of a {@link RandomSource}, as plain values. */
export interface RandomState {
  readonly seed: number;
  readonly block: number;
  /** The number of words drawn from the block. */
  readonly drawn: number;
}

/** The number of words in a block. Each block is a new stream, so a state can be restored quickly. */
const BLOCK_WORDS = 2 ** 16;

/** A source of numbers for `Math.random` whose state can be read and set. */
export class RandomSource {
  #state: { seed: number; block: number; drawn: number };
  #draw: RandomWords;

  /** @param seed An integer. */
  constructor(seed: number) {
    this.#state = { seed, block: 0, drawn: 0 };
    this.#draw = randomWords(seed, 0);
  }

  /** A number from 0 (inclusive) to 1 (exclusive) with 53 random bits. */
  next(): number {
    const state = this.#state;
    if (state.drawn === BLOCK_WORDS) {
      state.block++;
      state.drawn = 0;
      this.#draw = randomWords(state.seed, state.block);
    }
    state.drawn += 2;
    return fraction53(this.#draw(), this.#draw());
  }

  getState(): RandomState {
    return { ...this.#state };
  }

  /** @throws AccError `ACC_STATE_INVALID`. */
  setState({ seed, block, drawn }: RandomState): void {
    const isState =
      [seed, block, drawn].every(Number.isSafeInteger) && block >= 0 && drawn >= 0 && drawn <= BLOCK_WORDS;
    if (!isState)
      throw new AccError('ACC_STATE_INVALID', 'This value is not a state of random numbers.', {
        help: 'Load another checkpoint: this one was changed.',
      });
    this.#state = { seed, block, drawn };
    this.#draw = randomWords(seed, block);
    for (let i = 0; i < drawn; i++) this.#draw();
  }
}
