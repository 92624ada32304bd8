import type { Collective } from '@acc/contract';
import { sampleWords, type RandomWords } from '@acc/data';
import { RandomSource, type RandomState } from './random-source.js';

/** `Math.random` draws from the blocks from 0 on of a stream with the same seed. */
const FIRST_BLOCK = 2 ** 32;

/** The source of orders of data: the same on every rank, and in every run with the same seed. */
class Orders {
  readonly seed: number;
  /** For `tf.util.shuffle` and its kind. */
  readonly source: RandomSource;
  /** For datasets that are read without an Accelerator. */
  readonly unprepared = new DatasetReading('unprepared', 0);

  constructor(seed: number) {
    this.seed = seed;
    this.source = new RandomSource(seed);
    this.source.setState({ seed, block: FIRST_BLOCK, drawn: 0 });
  }
}

/** Streams for datasets, in the place of an epoch. */
const STREAMS = { prepared: -1, validation: -2, unprepared: -3 } as const;

/** How far the streams of maps are from those of shuffles. */
const OF_MAPS = 10;

export type ReadingKind = keyof typeof STREAMS;

/** The seeds of the unseeded shuffles of one dataset. */
export class DatasetReading {
  readonly #kind: ReadingKind;
  readonly #index: number;
  #orders: Orders | undefined;
  #words: RandomWords | undefined;
  #maps = 0;

  /** @param index The number of the dataset among those of its kind. */
  constructor(kind: ReadingKind, index: number) {
    this.#kind = kind;
    this.#index = index;
  }

  /** The number of mapped iterators before this one. */
  nextMap(): number {
    return this.#maps++;
  }

  /** The seed of what the functions of `map` draw. */
  seedOfMaps({ seed }: Orders): number {
    return sampleWords(seed, STREAMS[this.#kind] - OF_MAPS, this.#index)();
  }

  /** The seed of the next shuffle. A seed of 0 would be none to tfjs. */
  nextSeed(orders: Orders): number {
    if (this.#orders !== orders) {
      this.#orders = orders;
      this.#words = sampleWords(orders.seed, STREAMS[this.#kind], this.#index);
    }
    return this.#words!() || 1;
  }
}

export type { Orders };

let orders: Orders | undefined;
/** Whether the program chose the seed. */
let isChosen = false;

/** Begins orders by a seed of the program. */
export function chooseOrders(seed: number): void {
  orders = new Orders(seed);
  isChosen = true;
}

/** The seed that the program chose. */
export function chosenOrderSeed(): number | undefined {
  return isChosen ? orders?.seed : undefined;
}

/**
 * Begins the orders of a run, with the seed of the first rank: ranks may have chosen different ones, for
 * their dropout. Without `own`, those of the current orders. Every rank calls it.
 */
export function shareOrders(ranks: Pick<Collective, 'broadcastObject'>, own = orders?.seed): void {
  const seed = ranks.broadcastObject(own, 0);
  if (seed !== undefined && orders?.seed !== seed) orders = new Orders(seed);
}

export function endOrders(): void {
  orders = undefined;
  isChosen = false;
}

/** The orders of the run, or those that the program chose. */
export const currentOrders = (): Orders | undefined => orders;

/** The orders for datasets that are read without an Accelerator. */
export const chosenOrders = (): Orders | undefined => (isChosen ? orders : undefined);

/** The state of the orders in a checkpoint. */
export interface OrderState {
  readonly seed: number;
  readonly source: RandomState;
}

export function readOrderState(): OrderState | null {
  return orders ? { seed: orders.seed, source: orders.source.getState() } : null;
}

/** @throws AccError `ACC_STATE_INVALID`. */
export function restoreOrderState({ seed, source }: OrderState): void {
  const restored = new Orders(seed);
  restored.source.setState(source);
  orders = restored;
}
