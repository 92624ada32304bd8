import { datasetSteps, type BatchIterator } from './dataset-steps.js';
import { deliver, markLast } from './deliver.js';
import { fillsLastStep, resolveShard, type Shard, type ShardOptions } from './options.js';
import { Iterators, type DatasetPosition } from './iterators.js';
import { needsAwait } from './needs-await.js';
import { requireCount } from './require-count.js';

/**
 * The members of a `tf.data.Dataset` that are used. `fitDataset` also accepts objects that only have
 * an iterator.
 */
export interface DatasetLike {
  readonly size?: number | null;
  iterator(): Promise<BatchIterator<unknown>>;
}

/** The type of the elements that a dataset's iterator yields. */
export type ElementOf<D extends DatasetLike> =
  Awaited<ReturnType<D['iterator']>> extends BatchIterator<infer T> ? T : never;

/** One rank's share of a dataset. It still has the class of the dataset. */
export type ShardedDataset<D extends DatasetLike> = D &
  AsyncIterable<ElementOf<D>> & {
    /**
     * Ends the iterators that were not read to their end, and disposes the batches they hold ready.
     * `fitDataset` with `batchesPerEpoch` leaves such iterators. `for await` ends its own.
     */
    closeIterators(): Promise<void>;
    /**
     * The same data for tfjs-layers. Its iterators also yield a value that comes together with
     * `done: true`. tfjs-layers trains and evaluates on such a value, but the operators of tf.data
     * ignore it.
     */
    withResult(): ShardedDataset<D>;
    /** Returns a share that skips the first `batches` batches of this rank in each iteration. */
    skipFirst(batches: number): ShardedDataset<D>;
    /** The current position as plain values, for a checkpoint. */
    getState(): DatasetPosition;
    /**
     * Resumes at a position: batches before it are read and skipped. The number of ranks may
     * differ. If the dataset shuffles anew for each iteration, the result is only right in a
     * program that has not iterated it before.
     */
    setState(state: DatasetPosition): void;
    /** If the resumed position is the end of an iteration, moves on to the next iteration. */
    passEnd(): void;
  };

/** The original dataset of each share. */
const wholes = new WeakMap<object, DatasetLike>();

/**
 * Takes one rank's share of a tf.data dataset of batches (tensors, or nested records and arrays of
 * tensors, with the samples along dim 0). The result inherits from the dataset, so `map`, `take`,
 * `forEachAsync`, `toArray` and `fitDataset` work on it. It is also async-iterable. The reader owns
 * its batches. If `dataset` is a share itself, the result is a share of the original dataset.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. Iterating throws `ACC_DATA_SPLIT`,
 * `ACC_DATA_ROWS_DIFFER`.
 */
export function shardDataset<D extends DatasetLike>(dataset: D, options: ShardOptions): ShardedDataset<D> {
  const shard = resolveShard('shardDataset', options);
  const full = wholes.get(dataset) ?? dataset;
  return shardOfDataset(full as D, shard, new Iterators(full, shard.read), 0);
}

function shardOfDataset<D extends DatasetLike>(
  full: D,
  shard: Shard,
  iterators: Iterators,
  skipped: number,
): ShardedDataset<D> {
  const open: OpenIterators = new Set();
  const size = shardSize(full.size, shard);
  const iterate = async (takeItems: TakeItems) => {
    const created = await iterators.open();
    const batches = batchesOf(iterators, () => Promise.resolve(created), { shard, skipped, takeItems });
    return shardIterator(created.batches, batches, open);
  };
  const own = Object.create(full, {
    size: { value: size === null ? null : Math.max(size - skipped, 0), enumerable: true },
    iterator: { value: () => iterate(asTheyAre) },
    withResult: {
      value: () => {
        const withResult = Object.create(own, { iterator: { value: () => iterate(resultToo) } }) as object;
        wholes.set(withResult, full);
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
        return shardOfDataset(full, shard, iterators, batches);
      },
    },
    getState: { value: () => iterators.getState() },
    passEnd: { value: () => iterators.passEnd() },
    setState: { value: (state: DatasetPosition) => iterators.setState(state) },
    [Symbol.asyncIterator]: {
      value: () => batchesOf(iterators, () => iterators.open(), { shard, skipped, takeItems: asTheyAre }),
    },
  }) as ShardedDataset<D>;
  wholes.set(own, full);
  return needsAwait(own);
}

/** Adapts a dataset's iterator before it is read. */
type TakeItems = (batches: BatchIterator<unknown>) => BatchIterator<unknown>;

const asTheyAre: TakeItems = (batches) => batches;

/** Yields a value that comes together with `done: true` as one more item. */
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

interface ShardReading {
  readonly shard: Shard;
  readonly skipped: number;
  readonly takeItems: TakeItems;
}

type OpenIterators = Set<AsyncGenerator<unknown, void, undefined>>;

/**
 * Creates an iterator that inherits from the base class of tf.data's iterators. Its `map`, `batch`
 * and similar methods call `next`.
 */
function shardIterator(
  full: BatchIterator<unknown>,
  batches: AsyncGenerator<unknown, void, undefined>,
  open: OpenIterators,
): BatchIterator<unknown> {
  // A generator answers calls of `next` in order, even if `prefetch` makes several calls at once.
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
  // The members must be own and enumerable, because tf.data's `concatenate` copies iterators by
  // their enumerable members.
  return Object.assign(Object.create(rootPrototype(full)) as BatchIterator<unknown>, {
    next,
    summary: () => 'Shard',
  });
}

/**
 * The prototype of LazyIterator, from which tf.data's iterators inherit `map`, `batch` and other
 * methods.
 */
function rootPrototype(object: object): object {
  let root = Object.getPrototypeOf(object) as object;
  for (let next = root; next !== null && next !== Object.prototype;) {
    root = next;
    next = Object.getPrototypeOf(next) as object;
  }
  return root;
}

async function* batchesOf(
  iterators: Iterators,
  open: () => ReturnType<Iterators['open']>,
  { shard, skipped, takeItems }: ShardReading,
): AsyncGenerator<unknown, void, undefined> {
  const iteration = iterators.progress.begin();
  const from = skipped > 0 ? skipped * (shard.splitBatches ? 1 : shard.size) : iteration.from;
  const batches = takeItems(await iterators.toRead(await open()));
  yield* deliver(markLast(datasetSteps(batches, shard, from)), shard, iteration);
}

/**
 * The number of batches of one rank, or null if the dataset does not report its size. tf.data
 * reports null or Infinity in this case.
 */
function shardSize(size: number | null | undefined, shard: Shard): number | null {
  if (size === null || size === undefined) return null;
  if (!Number.isFinite(size) || shard.splitBatches) return size;
  const steps = size / shard.size;
  if (fillsLastStep(shard)) return Math.ceil(steps);
  return Math.floor(steps) + (shard.rank < size % shard.size ? 1 : 0);
}
