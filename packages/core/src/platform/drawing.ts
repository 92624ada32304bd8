import { AsyncLocalStorage } from 'node:async_hooks';
import { sampleWords, type Drawing, type RandomWords } from '@acc/data';
import { fraction53 } from '@acc/platform';
import { currentOrders, type Orders } from '../random/data-orders.js';
import { drawAtPlaces } from '../random/math-random.js';

/** A source of random numbers. The words are only made for code that draws. */
class Draws {
  readonly #make: () => RandomWords;
  #words: RandomWords | undefined;

  constructor(make: () => RandomWords) {
    this.#make = make;
  }

  next(): number {
    const words = (this.#words ??= this.#make());
    return fraction53(words(), words());
  }
}

const draws = new AsyncLocalStorage<Draws>();

/**
 * Makes what code draws from `Math.random` belong to its place in data, also after its awaits: the same
 * numbers while batches are read ahead, and after a resume.
 *
 * @param seedOf The seed of the data, from the orders of the run.
 */
export function drawingBy(seedOf: (orders: Orders) => number): Drawing {
  drawAtPlaces(() => draws.getStore()?.next());
  return (epoch, place, run) => {
    const orders = currentOrders();
    return orders ? draws.run(new Draws(() => sampleWords(seedOf(orders), epoch, place)), run) : run();
  };
}

/** The stream of the seeds of loaders, in the place of an epoch. See `STREAMS` of orders of datasets. */
const LOADERS = -4;

/** For the code of the prepared loader with this number. */
export const drawingOf = (index: number): Drawing =>
  drawingBy(({ seed }) => sampleWords(seed, LOADERS, index)());
