import { clone, tidy, type TensorContainer } from '@tensorflow/tfjs-core';
import { dispatchSteps, requireFullSteps } from '#platform/dispatch-steps';
import { LoaderWorkers } from '#platform/workers';
import { orderOf, permutation } from '@acc/formats';
import type { OnBatch, Step } from './batch-counts.js';
import type { BatchOf, LoaderDataset, SampleOf } from './batch-types.js';
import { dataSource, type DataSource } from './data-source.js';
import { ahead, deliver, markLast } from './deliver.js';
import { drawsAnywhere, PLACES } from './drawing.js';
import { cannotSplit, needsNumbers, promised } from './errors.js';
import { epochLength, indexedSteps, planSteps, type EpochPlan, type PlannedBatch } from './indexed-steps.js';
import {
  fillsLastStep,
  resolveLoaderOptions,
  resolveLoaderShard,
  WHOLE,
  type DataLoaderOptions,
  type LoaderConfig,
  type LoaderShard,
  type LoaderShardOptions,
} from './options.js';
import { needsAwait } from './needs-await.js';
import { Progress, type DataPosition, type Iteration } from './progress.js';
import { requireCount } from './require-count.js';
import type { IndexedSource } from './sample-source.js';
import { stepSamples, type Reader } from './step-layout.js';
import { streamSteps, type Place } from './stream-steps.js';
import { disposeTensors, mapTensors, TensorMark } from './structure.js';
import { noteUnprepared } from './unprepared-batches.js';

/**
 * Yields batches of a dataset. Each `for await` is one epoch. The loop owns the tensors of the
 * batches and disposes them.
 */
export interface DataLoader<Batch = unknown> extends AsyncIterable<Batch> {
  readonly batchSize: number;
  /**
   * The number of batches of an epoch. For a sharded loader, those of its rank. Undefined if the
   * dataset has no length.
   */
  readonly length: number | undefined;
  /**
   * Makes epoch `k` (from 0) the next one. Later iterations continue from there. By default epochs
   * are counted from 0, one for each iteration. If the loader shuffles, each epoch has its own
   * order. If `k` is the epoch in which a checkpoint was made, it continues where the checkpoint
   * was made.
   *
   * @throws AccError `ACC_INVALID_OPTION`.
   */
  setEpoch(k: number): void;
  /**
   * Creates a loader of one rank's share of the batches. Both loaders share the dataset and the
   * epoch counter. If this loader is a shard itself, the new one is a shard of the whole data.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_SPLIT`.
   */
  shard(options: LoaderShardOptions): DataLoader<Batch>;
  /**
   * Returns a loader that skips the first `batches` batches of this rank in each iteration. Both
   * loaders share the epoch counter.
   */
  skipFirst(batches: number): DataLoader<Batch>;
  /** The current position as plain values, for a checkpoint. */
  getState(): DataPosition;
  /**
   * Resumes at a position: the next iteration yields the batches that would have followed it. The
   * number of ranks may differ.
   */
  setState(state: DataPosition): void;
  /** Ends the worker threads, if there are any. The next iteration starts new ones. */
  close(): Promise<void>;
}

export interface DataLoaderConstructor {
  new <D extends LoaderDataset, B = BatchOf<D>>(
    dataset: D,
    options: DataLoaderOptions<SampleOf<D>, B>,
  ): DataLoader<B>;
  new <B>(dataset: LoaderDataset, options: DataLoaderOptions<never, B>): DataLoader<B>;
  readonly prototype: DataLoader;
}

class Loader implements DataLoader {
  static {
    needsAwait(this.prototype);
  }

  readonly #dataset: unknown;
  readonly #config: LoaderConfig;
  #source: DataSource;
  #progress = new Progress();
  #workers: LoaderWorkers | undefined;
  #shard: LoaderShard = WHOLE;
  /** The number of steps that each iteration skips. */
  #skipped = 0;

  constructor(dataset: unknown, options: object) {
    this.#dataset = dataset;
    this.#config = resolveLoaderOptions(options);
    this.#source = dataSource(dataset, this.#config.collate);
    const refused = OF_NUMBERED.find((name) => this.#config[name]);
    if (refused && this.#source.kind === 'stream') throw needsNumbers(refused);
    const { numWorkers, collate } = this.#config;
    if (numWorkers > 0) this.#workers = new LoaderWorkers(this.#source as IndexedSource, numWorkers, collate);
  }

  get batchSize(): number {
    return this.#config.batchSize;
  }

  get length(): number | undefined {
    if (this.#source.kind === 'stream') return undefined;
    return Math.max(
      epochLength(this.#epochSamples(this.#source), this.#plan(this.#shard.rank)) - this.#skipped,
      0,
    );
  }

  setEpoch(k: number): void {
    requireCount('setEpoch', k);
    this.#progress.goTo(k);
  }

  getState(): DataPosition {
    return this.#progress.getState();
  }

  setState(state: DataPosition): void {
    this.#progress.setState(state);
  }

  async close(): Promise<void> {
    await this.#workers?.close();
  }

  skipFirst(batches: number): DataLoader {
    requireCount('skipFirst', batches);
    const copy = this.#copy();
    copy.#skipped = batches;
    return copy;
  }

  shard(options: LoaderShardOptions): DataLoader {
    const shard = resolveLoaderShard('shardLoader', options);
    const { batchSize } = this;
    if (shard.splitBatches && batchSize < shard.size) {
      throw cannotSplit(
        `a batch of ${batchSize} samples is too small for ${shard.size} ranks`,
        'With splitBatches, batchSize is the number of samples of all ranks together. Increase it.',
        { batchSize, size: shard.size },
      );
    }
    const copy = this.#copy();
    copy.#shard = shard;
    return copy;
  }

  /** Creates a loader that shares the dataset and the epoch counter. */
  #copy(): Loader {
    const copy = new Loader(this.#dataset, this.#config);
    copy.#source = this.#source;
    copy.#progress = this.#progress;
    copy.#workers = this.#workers;
    copy.#shard = this.#shard;
    return copy;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    // The epoch begins on the first read, not when the iterator is created. An iterator that is
    // never read does not count as an epoch.
    const iteration = this.#progress.begin();
    const { dispatch, rank, size } = this.#shard;
    const order = this.#order(iteration);
    if (!dispatch || size === 1) {
      yield* deliver(
        this.#steps(iteration, rank, order),
        { ...this.#shard, onBatch: this.#onBatch, prefetch: this.#ahead },
        iteration,
      );
      return;
    }
    requireFullSteps(this.#plan(rank));
    const open = () => ahead(this.#steps(iteration, 'all', order), this.#ahead);
    yield* deliver(dispatchSteps(rank, open, dispatch), { ...this.#shard, prefetch: 0 }, iteration);
  }

  get #onBatch(): OnBatch | undefined {
    return this.#shard === WHOLE ? (_, batch) => noteUnprepared(batch) : this.#shard.onBatch;
  }

  /** The number of batches that are read ahead. Workers read ahead themselves. */
  get #ahead(): number {
    return this.#workers ? 0 : (this.#config.prefetch ?? this.#shard.prefetch);
  }

  #steps(
    { epoch, from: resumedFrom }: Iteration,
    reader: Reader,
    order: Int32Array | undefined,
  ): AsyncGenerator<Step<unknown>> {
    const source = this.#source;
    const plan = this.#plan(reader);
    const from = this.#skipped > 0 ? this.#skipped * stepSamples(plan.deal) : resumedFrom;
    const { drawing = drawsAnywhere, rank } = this.#shard;
    const at: Place = (place, run) => drawing(epoch, place, run);
    if (source.kind === 'stream') return markLast(streamSteps(source, plan, { from, at }));
    const planned = planSteps(source.length, plan, { order, from });
    const draw = { seed: this.#seed, epoch };
    const before = epoch * this.#epochSamples(source);
    const finish = (batch: unknown, { start }: PlannedBatch) =>
      at(PLACES.transform + start + rank, () => this.#transformed(batch, before + start));
    if (this.#workers) {
      const { numWorkers, prefetch = this.#shard.prefetch || 2 * numWorkers } = this.#config;
      return this.#workers.steps({ planned, draw }, prefetch, finish);
    }
    const make = ({ indices, start }: PlannedBatch) =>
      at(PLACES.batch + start + rank, () => source.batch(indices, draw, drawing));
    return indexedSteps(planned, async (step) => finish(await make(step), step));
  }

  #transformed(batch: unknown, samplesBefore: number): unknown {
    const { transform } = this.#config;
    if (!transform) return batch;
    try {
      const mark = new TensorMark();
      return tidy(() => {
        const changed = transform(batch, samplesBefore);
        if (changed instanceof Promise) throw promised('transform');
        return mapTensors(changed, (x) => (mark.isNew(x) ? x : clone(x))) as TensorContainer;
      });
    } finally {
      disposeTensors(batch);
    }
  }

  get #seed(): number {
    return this.#config.seed ?? this.#shard.seed ?? 0;
  }

  /** The number of samples of an epoch. */
  #epochSamples({ length }: IndexedSource): number {
    return this.#config.sampler?.size(length) ?? length;
  }

  /** The order of an iteration. Undefined: that of the data. @throws AccError `ACC_DATA_ORDER`. */
  #order(iteration: Iteration): Int32Array | undefined {
    if (this.#source.kind === 'stream') return undefined;
    const { length } = this.#source;
    const order = this.#orderOf(length, iteration.epoch);
    // 0 for the order of the data, whatever its length, so that data may grow at its end.
    iteration.inOrder(order ? checksumOf(order) : 0);
    return order;
  }

  #orderOf(length: number, epoch: number): Int32Array | undefined {
    const { shuffle, sampler, batchSize } = this.#config;
    const seed = this.#seed;
    if (!sampler) return shuffle ? permutation(length, seed, epoch) : undefined;
    const run = this.#shard.splitBatches ? undefined : batchSize;
    return orderOf(sampler, { samples: length, seed, epoch, batchSize: run });
  }

  #plan(rank: Reader): EpochPlan {
    const { batchSize, dropLast } = this.#config;
    const { size, splitBatches, sharesLastStep: sharesLast } = this.#shard;
    const fills = !dropLast && fillsLastStep(this.#shard);
    return { rank, dropLast, deal: { batchSize, size, splitBatches, fills, sharesLast } };
  }
}

/** FNV-1a (Fowler, Noll, Vo) over 32-bit words. */
function checksumOf(order: Int32Array): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < order.length; i++) hash = Math.imul(hash ^ order[i]!, 0x01000193);
  return hash >>> 0;
}

/** The options that need numbered samples. */
const OF_NUMBERED = ['shuffle', 'sampler', 'transform', 'numWorkers'] as const;

/**
 * A loader over an array of samples, a tensor or a record of tensors (rows along dim 0), an
 * iterable or a function that returns one, or `{length, get(i)}`. The caller owns the dataset.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_DATASET`,
 * `ACC_DATA_ROWS_DIFFER`, `ACC_DATA_SHUFFLE`. Iterating throws `ACC_DATA_COLLATE`,
 * `ACC_DATA_SAMPLER`, `ACC_DATA_SAMPLE`, `ACC_DATA_SPENT`, `ACC_DATA_DISPATCH`, and with `numWorkers`
 * `ACC_DATA_WORKERS`, `ACC_DATA_WORKER`; without `await`, `ACC_DATA_NOT_AWAITED`.
 */
export const DataLoader = Loader as unknown as DataLoaderConstructor;

/** Calls `loader.shard(options)`. */
export function shardLoader<B>(loader: DataLoader<B>, options: LoaderShardOptions): DataLoader<B> {
  return loader.shard(options);
}
