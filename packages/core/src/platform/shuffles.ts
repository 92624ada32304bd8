import { AsyncLocalStorage } from 'node:async_hooks';
import { createRequire } from 'node:module';
import { util } from '@tensorflow/tfjs-core';
import { noteUnprepared } from '@acc/data';
import { replaceForGood } from '@acc/tfjs-internals';
import {
  chosenOrders,
  currentOrders,
  DatasetReading,
  type Orders,
  type ReadingKind,
} from '../random/data-orders.js';
import { drawingFrom } from '../random/math-random.js';
import { drawingBy } from './drawing.js';

/** The members of a `tf.data.Dataset` that are used. */
interface Dataset {
  iterator(): Promise<unknown>;
  forEachAsync(visit: (element: unknown) => unknown): Promise<void>;
  shuffle(bufferSize: number, seed?: string, reshuffleEachIteration?: boolean): Dataset;
  map(transform: Transform): Dataset;
  mapAsync(transform: Transform): Dataset;
  batch(batchSize: number, smallLastBatch?: boolean): Dataset;
}

type Transform = (element: unknown) => unknown;

type Read = <T>(read: () => Promise<T>) => Promise<T>;

/** tfjs-data, whose classes this package does not load. */
const TFJS_DATA = /[\\/]@tensorflow[\\/]tfjs-data[\\/]dist[\\/][^\\/]+\.js$/;

const reading = new AsyncLocalStorage<DatasetReading>();
const noted = new WeakSet<object>();

/**
 * Makes shuffles without a seed draw their order from a seed that all ranks share: those of tf.data
 * while an Accelerator reads them, or after `setSeed`, and `tf.util.shuffle`, `shuffleCombo` and
 * `createShuffledIndices`. tfjs itself takes the time, and `Math.random`. Called again when tfjs-data
 * may have been loaded since.
 */
export function noteShuffles(): void {
  if (!noted.has(util)) noteUtil();
  for (const [path, module] of Object.entries(createRequire(import.meta.url).cache)) {
    const { Dataset: found } = (TFJS_DATA.test(path) ? module?.exports : {}) as { Dataset?: unknown };
    if (typeof found !== 'function' || noted.has(found)) continue;
    noted.add(found);
    noteDataset(found.prototype as Dataset);
  }
}

/** Runs each read of a dataset, the one with this number among those of its kind. */
export function readingOf(kind: ReadingKind, index: number): Read {
  const own = new DatasetReading(kind, index);
  return (read) => reading.run(own, read);
}

function noteUtil(): void {
  noted.add(util);
  for (const name of ['shuffle', 'shuffleCombo', 'createShuffledIndices'] as const) {
    replaceForGood(util as Record<typeof name, (...args: never[]) => unknown>, name, (own) => (...args) => {
      const orders = currentOrders();
      return orders ? drawingFrom(orders.source, () => own(...args)) : own(...args);
    });
  }
}

function noteDataset(prototype: Dataset): void {
  replaceForGood(prototype, 'map', elementwise);
  replaceForGood(prototype, 'mapAsync', elementwise);
  replaceForGood(
    prototype,
    'batch',
    (own) =>
      function (this: Dataset, ...args) {
        return notingBatches(own.apply(this, args));
      },
  );
  replaceForGood(prototype, 'forEachAsync', notingElements);
  replaceForGood(
    prototype,
    'shuffle',
    (own) =>
      function (this: Dataset, bufferSize, seed, reshuffleEachIteration) {
        const shuffled = own.call(this, bufferSize, seed, reshuffleEachIteration);
        if (seed) return shuffled;
        return inOrder(shuffled, (drawn) => own.call(this, bufferSize, drawn, reshuffleEachIteration));
      },
  );
}

/**
 * A `map` or `mapAsync` whose function draws numbers that belong to the element, while an Accelerator
 * reads the dataset.
 */
const elementwise = (own: Dataset['map']): Dataset['map'] =>
  function (this: Dataset, transform) {
    const mapped = own.call(this, transform);
    return atElements(mapped, (change) => own.call(this, (element) => change(() => transform(element))));
  };

type Change = <T>(run: () => T) => T;

function atElements(mapped: Dataset, mappedBy: (change: Change) => Dataset): Dataset {
  const iterator = () => Object.getPrototypeOf(mapped).iterator.call(mapped) as Promise<unknown>;
  return Object.assign(mapped, {
    iterator: () => {
      const reader = reading.getStore();
      if (!reader) return iterator();
      const drawing = drawingBy((orders) => reader.seedOfMaps(orders));
      const number = reader.nextMap();
      let element = 0;
      return mappedBy((run) => drawing(number, element++, run)).iterator();
    },
  });
}

interface Batches {
  next(): Promise<{ readonly value: unknown; readonly done: boolean }>;
}

/** A dataset whose batches are noted, except while an Accelerator reads it. */
function notingBatches(batched: Dataset): Dataset {
  const iterator = () => Object.getPrototypeOf(batched).iterator.call(batched) as Promise<Batches>;
  return Object.assign(batched, {
    iterator: async () => {
      const batches = await iterator();
      if (reading.getStore()) return batches;
      const next = batches.next.bind(batches);
      return Object.assign(batches, {
        next: async () => {
          const result = await next();
          noteUnprepared(result.done ? undefined : result.value);
          return result;
        },
      });
    },
  });
}

/**
 * A loop whose elements are noted: without `batch`, they may be batches already. Only the dataset that the loop
 * reads is certain to give the data of its steps, so the elements of the datasets below it are not noted.
 */
const notingElements = (own: Dataset['forEachAsync']): Dataset['forEachAsync'] =>
  async function (this: Dataset, visit) {
    try {
      await own.call(this, (element) => {
        noteUnprepared(element);
        // tfjs keeps the tensors of the element that are in the result.
        return visit(element);
      });
    } finally {
      noteUnprepared(undefined);
    }
  };

/** A dataset that is shuffled by a seed of the current orders, and by tfjs's if there are none. */
function inOrder(unseeded: Dataset, shuffledBy: (seed: string) => Dataset): Dataset {
  const iterator = () => Object.getPrototypeOf(unseeded).iterator.call(unseeded) as Promise<unknown>;
  let by: Orders | undefined;
  let seeded: Dataset | undefined;
  return Object.assign(unseeded, {
    iterator: () => {
      const reader = reading.getStore();
      const orders = reader ? currentOrders() : chosenOrders();
      if (!orders) return iterator();
      if (by !== orders || !seeded) {
        by = orders;
        seeded = shuffledBy(String((reader ?? orders.unprepared).nextSeed(orders)));
      }
      return seeded.iterator();
    },
  });
}
