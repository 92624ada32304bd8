import type { Step } from './batch-counts.js';
import type { BatchOf, LoaderDataset, SampleOf } from './batch-types.js';
import { dataSource, type DataSource } from './data-source.js';
import { deliver, markLast } from './deliver.js';
import { cannotShuffle, cannotSplit } from './errors.js';
import { epochLength, indexedSteps, type EpochPlan } from './indexed-steps.js';
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
import { permutation } from './permutation.js';
import { Progress, type DataPosition, type Iteration } from './progress.js';
import { requireCount } from './require-count.js';
import { stepSamples } from './step-layout.js';
import { streamSteps } from './stream-steps.js';

/**
 * Batches of a dataset. Each `for await` is one epoch; the batches' tensors belong to the loop, which disposes them.
 */
export interface DataLoader<Batch = unknown> extends AsyncIterable<Batch> {
  readonly batchSize: number;
  /** Batches of one epoch, those of one rank where the loader is sharded; undefined where the data has no length. */
  readonly length: number | undefined;
  /**
   * The next iteration is epoch `k` (from 0), and later ones go on from there. Without it each iteration is the epoch
   * after the one before, beginning with 0. Epochs differ in their order where the loader shuffles. The epoch within which a
   * checkpoint was made goes on where it was.
   *
   * @throws AccError `ACC_INVALID_OPTION`.
   */
  setEpoch(k: number): void;
  /**
   * A loader of one rank's part of the batches. Both share the dataset and the count of epochs. Of a loader that is
   * such a part, it is another part of the whole.
   *
   * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_SPLIT`.
   */
  shard(options: LoaderShardOptions): DataLoader<Batch>;
  /** The same loader, each iteration of which begins after the first `batches` of this rank. Both share the count of epochs. */
  skipFirst(batches: number): DataLoader<Batch>;
  /** Where it is: plain values, for a checkpoint. */
  getState(): DataPosition;
  /** The next iteration goes on from there, with the batches that would have come; on any number of ranks. */
  setState(state: DataPosition): void;
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
  readonly #dataset: unknown;
  readonly #config: LoaderConfig;
  #source: DataSource;
  #progress = new Progress();
  #shard: LoaderShard = WHOLE;
  /** Steps that each iteration leaves out. */
  #skipped = 0;

  constructor(dataset: unknown, options: object) {
    this.#dataset = dataset;
    this.#config = resolveLoaderOptions(options);
    this.#source = dataSource(dataset, this.#config.collate);
    if (this.#config.shuffle && this.#source.kind === 'stream') throw cannotShuffle();
  }

  get batchSize(): number {
    return this.#config.batchSize;
  }

  get length(): number | undefined {
    if (this.#source.kind === 'stream') return undefined;
    return Math.max(epochLength(this.#source.length, this.#plan()) - this.#skipped, 0);
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

  skipFirst(batches: number): DataLoader {
    requireCount('skipFirst', batches);
    const part = this.#copy();
    part.#skipped = batches;
    return part;
  }

  shard(options: LoaderShardOptions): DataLoader {
    const shard = resolveLoaderShard('shardLoader', options);
    const { batchSize } = this;
    if (shard.splitBatches && batchSize < shard.size) {
      throw cannotSplit(
        `a batch of ${batchSize} samples has none for some of ${shard.size} ranks`,
        'With splitBatches, batchSize is that of all ranks together: raise it.',
        { batchSize, size: shard.size },
      );
    }
    const part = this.#copy();
    part.#shard = shard;
    return part;
  }

  /** Shares the dataset and the count of epochs. */
  #copy(): Loader {
    const copy = new Loader(this.#dataset, this.#config);
    copy.#source = this.#source;
    copy.#progress = this.#progress;
    copy.#shard = this.#shard;
    return copy;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<unknown, void, undefined> {
    // Here, and not when the iterator is made: one that is never read is no epoch.
    const iteration = this.#progress.begin();
    yield* deliver(this.#steps(iteration), this.#shard, iteration);
  }

  #steps({ epoch, from: resumedFrom }: Iteration): AsyncGenerator<Step<unknown>> {
    const source = this.#source;
    const plan = this.#plan();
    const from = this.#skipped > 0 ? this.#skipped * stepSamples(plan.deal) : resumedFrom;
    if (source.kind === 'stream') return markLast(streamSteps(source, plan, from));
    const { shuffle, seed = this.#shard.seed ?? 0 } = this.#config;
    return indexedSteps(source, plan, shuffle ? permutation(source.length, seed, epoch) : undefined, from);
  }

  #plan(): EpochPlan {
    const { batchSize, dropLast } = this.#config;
    const { rank, size, splitBatches, sharesLastStep: sharesLast } = this.#shard;
    const fills = !dropLast && fillsLastStep(this.#shard);
    return { rank, dropLast, deal: { batchSize, size, splitBatches, fills, sharesLast } };
  }
}

/**
 * A loader over an array of samples, a tensor or a record of tensors (rows along dim 0), an iterable or a function
 * that returns one, or `{length, get(i)}`. The dataset stays the caller's.
 *
 * @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`, `ACC_DATA_DATASET`, `ACC_DATA_ROWS_DIFFER`,
 * `ACC_DATA_SHUFFLE`; when iterated `ACC_DATA_COLLATE`, `ACC_DATA_SPENT`.
 */
export const DataLoader = Loader as unknown as DataLoaderConstructor;

/** `loader.shard(options)`. */
export function shardLoader<B>(loader: DataLoader<B>, options: LoaderShardOptions): DataLoader<B> {
  return loader.shard(options);
}
