import { datasetSteps, type BatchIterator } from './dataset-steps.js';
import { deliver, markLast } from './deliver.js';
import { fillsLastStep, resolveShard, type Shard, type ShardOptions } from './options.js';
import { Iterators, type DatasetPosition } from './iterators.js';
import { requireCount } from './require-count.js';

/** What must be known of a `tf.data.Dataset`. `fitDataset` also takes objects that have nothing but an iterator. */
export interface DatasetLike {
  readonly size?: number | null;
  iterator(): Promise<BatchIterator<unknown>>;
}

/** What a dataset's iterator gives. */
export type ElementOf<D extends DatasetLike> =
  Awaited<ReturnType<D['iterator']>> extends BatchIterator<infer T> ? T : never;

/** One rank's part of a dataset, which still is the dataset's class. */
export type ShardedDataset<D extends DatasetLike> = D &
  AsyncIterable<ElementOf<D>> & {
    /**
     * Ends the iterators that were read and left before their end, as `fitDataset` does with `batchesPerEpoch`, and
     * disposes the batches they hold ready. `for await` ends its own.
     */
    closeIterators(): Promise<void>;
    /**
     * The same data for tfjs-layers: its iterators also give a value that comes together with `done`. tfjs-layers trains and
     * evaluates on such a value; the operators of tf.data ignore it.
     */
    withResult(): ShardedDataset<D>;
    /** The same, each iteration of which begins after the first `batches` of this rank. */
    skipFirst(batches: number): ShardedDataset<D>;
    /** Where it is: plain values, for a checkpoint. */
    getState(): DatasetPosition;
    /**
     * The next iteration goes on from there, on any number of ranks: what was given out before is read and passed over. Of a
     * dataset that is shuffled anew for each iteration, that is right in a program that has not iterated it yet.
     */
    setState(state: DatasetPosition): void;
    /** Where the next iteration was to go on at the very end of another, it is the one after that. */
    passEnd(): void;
  };

/** The dataset that a part was made of. */
const wholes = new WeakMap<object, DatasetLike>();

/**
 * One rank's part of a tf.data dataset of batches (tensors or nested records and arrays of tensors, dim 0 the samples).
 * The result inherits from the dataset, so that `map`, `take`, `forEachAsync`, `toArray` and `fitDataset` work on it, and
 * is async-iterable as well. Its batches belong to whoever reads them. Of a dataset that is such a part, it is another
 * part of the whole.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`; when iterated `ACC_DATA_SPLIT`, `ACC_DATA_ROWS_DIFFER`.
 */
export function shardDataset<D extends DatasetLike>(dataset: D, options: ShardOptions): ShardedDataset<D> {
  const shard = resolveShard('shardDataset', options);
  const whole = wholes.get(dataset) ?? dataset;
  return partOfDataset(whole as D, shard, new Iterators(whole), 0);
}

function partOfDataset<D extends DatasetLike>(
  whole: D,
  shard: Shard,
  iterators: Iterators,
  skipped: number,
): ShardedDataset<D> {
  const open: OpenIterators = new Set();
  const size = partSize(whole.size, shard);
  const iterate = async (takeItems: TakeItems) => {
    const made = await iterators.open();
    const batches = partOf(iterators, () => Promise.resolve(made), { shard, skipped, takeItems });
    return partIterator(made.batches, batches, open);
  };
  const part = Object.create(whole, {
    size: { value: size === null ? null : Math.max(size - skipped, 0), enumerable: true },
    iterator: { value: () => iterate(asTheyAre) },
    withResult: {
      value: () => {
        const withResult = Object.create(part, { iterator: { value: () => iterate(resultToo) } }) as object;
        wholes.set(withResult, whole);
        return withResult;
      },
    },
    closeIterators: {
      value: async () => {
        await Promise.all(Array.from(open, (batches) => batches.return()));
        open.clear();
      },
    },
    skipFirst: {
      value: (batches: number) => {
        requireCount('skipFirst', batches);
        return partOfDataset(whole, shard, iterators, batches);
      },
    },
    getState: { value: () => iterators.getState() },
    passEnd: { value: () => iterators.passEnd() },
    setState: { value: (state: DatasetPosition) => iterators.setState(state) },
    [Symbol.asyncIterator]: {
      value: () => partOf(iterators, () => iterators.open(), { shard, skipped, takeItems: asTheyAre }),
    },
  }) as ShardedDataset<D>;
  wholes.set(part, whole);
  return part;
}

/** What is read of a dataset's iterator. */
type TakeItems = (batches: BatchIterator<unknown>) => BatchIterator<unknown>;

const asTheyAre: TakeItems = (batches) => batches;

/** A value that comes with `done` is one more item. */
const resultToo: TakeItems = (batches) => {
  let ended = false;
  return {
    next: async () => {
      if (ended) return { value: null, done: true };
      const item = await batches.next();
      ended = item.done === true;
      return ended && item.value != null ? { value: item.value, done: false } : item;
    },
  };
};

interface PartOptions {
  readonly shard: Shard;
  readonly skipped: number;
  readonly takeItems: TakeItems;
}

type OpenIterators = Set<AsyncGenerator<unknown, void, undefined>>;

/** An iterator of tf.data's class; its `map`, `batch` and the like build on `next`. */
function partIterator(
  whole: BatchIterator<unknown>,
  batches: AsyncGenerator<unknown, void, undefined>,
  open: OpenIterators,
): BatchIterator<unknown> {
  // A generator answers calls of next in turn, also those that prefetch makes all at once.
  const next = async (): Promise<IteratorResult<unknown>> => {
    open.add(batches);
    let ended = true;
    try {
      const item = await batches.next();
      ended = item.done === true;
      return item.done ? { value: null, done: true } : item;
    } finally {
      if (ended) open.delete(batches);
    }
  };
  // Own enumerable members, since tf.data's concatenate makes a copy of its iterators by those.
  return Object.assign(Object.create(rootPrototype(whole)) as BatchIterator<unknown>, {
    next,
    summary: () => 'Shard',
  });
}

/** LazyIterator's prototype, from which tf.data's iterators inherit `map`, `batch` and the like. */
function rootPrototype(object: object): object {
  let root = Object.getPrototypeOf(object) as object;
  for (let next = root; next !== null && next !== Object.prototype;) {
    root = next;
    next = Object.getPrototypeOf(next) as object;
  }
  return root;
}

async function* partOf(
  iterators: Iterators,
  open: () => ReturnType<Iterators['open']>,
  { shard, skipped, takeItems }: PartOptions,
): AsyncGenerator<unknown, void, undefined> {
  const iteration = iterators.progress.begin();
  const from = skipped > 0 ? skipped * (shard.splitBatches ? 1 : shard.size) : iteration.from;
  const batches = takeItems(await iterators.toRead(await open()));
  yield* deliver(markLast(datasetSteps(batches, shard, from)), shard, iteration);
}

/** Batches of one rank, where the dataset says how many there are; tf.data has null or Infinity otherwise. */
function partSize(size: number | null | undefined, shard: Shard): number | null {
  if (size === null || size === undefined) return null;
  if (!Number.isFinite(size) || shard.splitBatches) return size;
  const steps = size / shard.size;
  if (fillsLastStep(shard)) return Math.ceil(steps);
  return Math.floor(steps) + (shard.rank < size % shard.size ? 1 : 0);
}
