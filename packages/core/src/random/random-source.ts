import { AccError } from '@acc/contract';
import { randomWords, type RandomWords } from '@acc/data';

/** Where a {@link RandomSource} is: plain values. */
export interface RandomState {
  readonly seed: number;
  readonly block: number;
  /** Words drawn of the block. */
  readonly drawn: number;
}

/** Words after which another stream begins, so that a state is found again in a moment. */
const BLOCK_WORDS = 2 ** 16;

/** Numbers for `Math.random` whose state can be read and set. */
export class RandomSource {
  #state: { seed: number; block: number; drawn: number };
  #draw: RandomWords;

  /** @param seed An integer. */
  constructor(seed: number) {
    this.#state = { seed, block: 0, drawn: 0 };
    this.#draw = randomWords(seed, 0);
  }

  /** From 0 up to, but not including, 1, with 53 random bits. */
  next(): number {
    const state = this.#state;
    if (state.drawn === BLOCK_WORDS) {
      state.block++;
      state.drawn = 0;
      this.#draw = randomWords(state.seed, state.block);
    }
    state.drawn += 2;
    const high = this.#draw() >>> 5;
    return (high * 2 ** 26 + (this.#draw() >>> 6)) / 2 ** 53;
  }

  getState(): RandomState {
    return { ...this.#state };
  }

  /** @throws AccError `ACC_STATE_INVALID`. */
  setState({ seed, block, drawn }: RandomState): void {
    const isState =
      [seed, block, drawn].every(Number.isSafeInteger) && block >= 0 && drawn >= 0 && drawn <= BLOCK_WORDS;
    if (!isState) throw new AccError('ACC_STATE_INVALID', 'This is no state of random numbers.');
    this.#state = { seed, block, drawn };
    this.#draw = randomWords(seed, block);
    for (let i = 0; i < drawn; i++) this.#draw();
  }
}
