import { randomBelow, randomWords, type RandomWords } from './random.js';

/**
 * The order of an epoch: the integers below `n`, shuffled. It depends only on the arguments, so it
 * is the same on every rank and in every run.
 *
 * @param n At most 2^31 - 1.
 * @param seed An integer.
 * @param epoch An integer from 0.
 */
export function permutation(n: number, seed: number, epoch: number): Int32Array {
  return shuffledNumbers(n, randomWords(seed, epoch));
}

/** The integers below `n`, shuffled. */
export function shuffledNumbers(n: number, draw: RandomWords): Int32Array {
  const order = new Int32Array(n);
  for (let i = 0; i < n; i++) order[i] = i;
  shuffle(order, draw);
  return order;
}

/** Shuffles in place, by the algorithm of Fisher and Yates in Durstenfeld's form. */
export function shuffle(order: Int32Array, draw: RandomWords): void {
  for (let i = order.length - 1; i > 0; i--) {
    const j = randomBelow(draw, i + 1);
    const moved = order[i]!;
    order[i] = order[j]!;
    order[j] = moved;
  }
}
