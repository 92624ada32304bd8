import { datasetSteps, type BatchIterator } from './dataset-steps.js';
import { deliver, markLast } from './deliver.js';
import { fillsLastStep, resolveShard, type Shard, type ShardOptions } from './options.js';

/** What must be known of a `tf.data.Dataset`. */
export interface DatasetLike {
  readonly size: number | null;
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
  const open: OpenIterators = new Set();
  const part = Object.create(whole, {
    size: { value: partSize(whole.size, shard), enumerable: true },
    iterator: { value: async () => partIterator(await whole.iterator(), shard, open) },
    closeIterators: {
      value: async () => {
        await Promise.all(Array.from(open, (batches) => batches.return()));
        open.clear();
      },
    },
    [Symbol.asyncIterator]: {
      value: async function* () {
        yield* partOf(await whole.iterator(), shard);
      },
    },
  }) as ShardedDataset<D>;
  wholes.set(part, whole);
  return part;
}

type OpenIterators = Set<AsyncGenerator<unknown, void, undefined>>;

/** An iterator of tf.data's class; its `map`, `batch` and the like build on `next`. */
function partIterator(
  whole: BatchIterator<unknown>,
  shard: Shard,
  open: OpenIterators,
): BatchIterator<unknown> {
  // A generator answers calls of next in turn, also those that prefetch makes all at once.
  const batches = partOf(whole, shard);
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

function partOf(whole: BatchIterator<unknown>, shard: Shard): AsyncGenerator<unknown, void, undefined> {
  return deliver(markLast(datasetSteps(whole, shard)), shard.onBatch);
}

/** Batches of one rank, where the dataset says how many there are; tf.data has null or Infinity otherwise. */
function partSize(size: number | null, shard: Shard): number | null {
  if (size === null || !Number.isFinite(size) || shard.splitBatches) return size;
  const steps = size / shard.size;
  if (fillsLastStep(shard)) return Math.ceil(steps);
  return Math.floor(steps) + (shard.rank < size % shard.size ? 1 : 0);
}
