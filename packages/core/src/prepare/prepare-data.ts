import type { Tensor } from '@tensorflow/tfjs-core';
import { AccError, type BatchRows } from '@acc/contract';
import {
  columns,
  DataLoader,
  dataKind,
  shardBatches,
  shardDataset,
  shardLoader,
  splitRows,
  type DataPosition,
  type DatasetLike,
  type LoaderShardOptions,
  type ShardedDataset,
  type ShardOptions,
  tensorsIn,
} from '@acc/data';
import { dispatchBatches, refuseDispatch } from '#platform/dispatch-batches';
import { drawingOf } from '#platform/drawing';
import { noteShuffles, readingOf } from '#platform/shuffles';
import type { ResolvedOptions } from '../options.js';
import type { ReadingKind } from '../random/data-orders.js';
import { requireNumber, type NumberRule } from '../require-arguments.js';
import type { PlaceInData } from './place-in-data.js';

/** The batch size for tensors that are given without one. It is the default of tfjs in `fit`. */
const DEFAULT_BATCH_SIZE = 32;
const ROWS: NumberRule = {
  expected: 'a whole number of rows from 1',
  help: 'Pass the size of the batch of all ranks.',
  isRight: (rows) => Number.isSafeInteger(rows) && rows > 0,
};
const BATCHES: NumberRule = {
  expected: 'a whole number from 0',
  help: 'Pass the number of batches of this rank to skip.',
  isRight: (batches) => Number.isSafeInteger(batches) && batches >= 0,
};

export interface DataPreparationOptions extends PlaceInData {
  readonly options: Pick<ResolvedOptions, 'dataLoader' | 'seed' | 'deterministic'>;
  /**
   * Called with each batch and its tensors before the batch is yielded. At the end of an iteration
   * it is called without tensors, with the current batch of the enclosing loop or undefined.
   */
  readonly onBatch: (rows: BatchRows | undefined, tensors: readonly Tensor[]) => void;
  /** Awaited before each batch is yielded, and before the end. */
  readonly atBoundary: (isEnd?: boolean) => Promise<void>;
}

/** The members that all kinds of prepared data have. */
interface PreparedData {
  getState(): DataPosition;
  setState(state: DataPosition): void;
  skipFirst(batches: number): object;
}

/** Prepares data of every kind, so that each rank gets its shard. */
export class DataPreparation {
  readonly #given: DataPreparationOptions;
  readonly #sharded = new WeakSet<object>();
  /**
   * In the order of preparation. Weak references, because a program may prepare data again in each
   * epoch.
   */
  readonly #prepared: WeakRef<PreparedData>[] = [];
  /** Positions from a checkpoint, also for data that is prepared later. */
  #toCome: readonly DataPosition[] = [];
  /** The last batch of each active iteration. The most recent one comes last. */
  readonly #open = new Map<object, BatchRows>();

  /** How many datasets were divided for validation. Their number depends on where a run began. */
  #validations = 0;

  /** Replaces the option for epochs that begin from now on. */
  evenBatches: boolean | undefined;

  constructor(options: DataPreparationOptions) {
    this.#given = options;
  }

  /**
   * The number of rows of this rank in a full batch of `batchSize`.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT`.
   */
  localBatchSize(batchSize: number): number {
    requireNumber('localBatchSize', 'batchSize', batchSize, ROWS);
    const { dataRanks, options } = this.#given;
    if (!options.dataLoader.splitBatches) return batchSize;
    return splitRows(batchSize, dataRanks.size)[dataRanks.rank]!.count;
  }

  /**
   * The data of this rank. Prepared data is returned unchanged. Undefined if the object is not
   * data.
   */
  prepare(object: unknown): object | undefined {
    const { dataLoader, seed } = this.#given.options;
    if (this.#sharded.has(object as object)) return object as object;
    switch (dataKind(object)) {
      case 'loader':
        return this.#add(shardLoader(object as DataLoader<unknown>, this.#loaderOptions()));
      case 'dataset':
        return this.shardOnce(object as DatasetLike);
      case 'batches':
        this.#refuseDispatch('a list of batches');
        return this.#add(shardBatches(object as never[], this.#shardOptions()));
      case 'columns': {
        const { shuffle } = dataLoader;
        const loader = new DataLoader(columns(object as Tensor[]), {
          batchSize: DEFAULT_BATCH_SIZE,
          shuffle,
          seed,
        });
        return this.#add(shardLoader(loader, this.#loaderOptions()));
      }
      default:
        return undefined;
    }
  }

  isPrepared(data: object): boolean {
    return this.#sharded.has(data);
  }

  /** Whether any data was prepared. */
  get hasData(): boolean {
    return this.#prepared.length > 0;
  }

  /** The positions in prepared data, in the order of preparation. */
  get positions(): DataPosition[] {
    const positions = this.#prepared.map((data) => data.deref()?.getState() ?? { epoch: 0, position: 0 });
    return [...positions, ...this.#toCome.slice(positions.length)];
  }

  /** Sets the positions of prepared data, and of data that is prepared later. */
  goOnFrom(positions: readonly DataPosition[]): void {
    this.#toCome = positions;
    this.#prepared.forEach((data, i) => {
      if (positions[i]) data.deref()?.setState(positions[i]);
    });
  }

  /**
   * The same data, but each iteration skips the first `batches` batches of this rank.
   *
   * @throws AccError `ACC_INVALID_ARGUMENT` if `data` is not prepared data.
   */
  skipFirst(data: object, batches: number): object {
    requireNumber('skipFirstBatches', 'batches', batches, BATCHES);
    if (this.#sharded.has(data)) return this.#mark((data as PreparedData).skipFirst(batches));
    throw new AccError('ACC_INVALID_ARGUMENT', 'skipFirstBatches was given data that is not prepared.', {
      help: 'Pass the data that accelerator.prepare returned.',
    });
  }

  /** The part of a tf.data.Dataset for this rank. A prepared dataset is returned unchanged. */
  shardOnce(dataset: object): ShardedDataset<DatasetLike> {
    if (this.#sharded.has(dataset)) return dataset as ShardedDataset<DatasetLike>;
    this.#refuseDispatch('a tf.data dataset');
    return this.#add(
      shardDataset(dataset as DatasetLike, this.#datasetOptions('prepared', this.#prepared.length)),
    );
  }

  /** A dataset's batches for this rank, without repetition. `onBatch` is called for each. */
  shardValidation(
    dataset: object,
    { rank, size }: Pick<ShardOptions, 'rank' | 'size'>,
    onBatch: (rows: BatchRows) => void,
  ): ShardedDataset<DatasetLike> {
    this.#refuseDispatch('a tf.data dataset');
    return shardDataset(dataset as DatasetLike, {
      ...this.#datasetOptions('validation', this.#validations++),
      rank,
      size,
      evenBatches: false,
      atBoundary: () => {},
      onBatch: (rows) => rows && onBatch(rows),
    });
  }

  #add<T extends PreparedData>(data: T): T {
    const toCome = this.#toCome[this.#prepared.length];
    if (toCome) data.setState(toCome);
    this.#prepared.push(new WeakRef<PreparedData>(data));
    return this.#mark(data);
  }

  #mark<T extends object>(data: T): T {
    this.#sharded.add(data);
    return data;
  }

  #refuseDispatch(what: string): void {
    const { dataRanks, options } = this.#given;
    if (options.dataLoader.dispatchBatches) refuseDispatch(what, dataRanks.size);
  }

  #datasetOptions(kind: ReadingKind, index: number): ShardOptions {
    // tf.data may have been loaded since.
    noteShuffles();
    return { ...this.#shardOptions(), read: readingOf(kind, index) };
  }

  #loaderOptions(): LoaderShardOptions {
    const { dataRanks, options } = this.#given;
    const dispatch = options.dataLoader.dispatchBatches ? dispatchBatches(dataRanks) : undefined;
    const drawing = drawingOf(this.#prepared.length);
    return { ...this.#shardOptions(), seed: options.seed, drawing, ...(dispatch && { dispatch }) };
  }

  #shardOptions(): ShardOptions {
    const { dataRanks, sequence, onBatch, atBoundary, options } = this.#given;
    const { rank, size } = dataRanks;
    const { splitBatches, evenBatches, prefetch } = options.dataLoader;
    return {
      rank,
      size,
      splitBatches,
      prefetch,
      ...(sequence && { sequence }),
      evenBatches: () => this.evenBatches ?? evenBatches,
      atBoundary,
      // Global batch k then has the same rows on any number of ranks, also if it is the last.
      sharesLastStep: options.deterministic !== false,
      onBatch: (rows, batch, iteration) => {
        if (rows) {
          this.#begin(rows, iteration);
          onBatch(rows, tensorsIn(batch));
        } else if (this.#end(iteration)) {
          onBatch([...this.#open.values()].at(-1), []);
        }
      },
    };
  }

  #begin(rows: BatchRows, iteration: object): void {
    this.#open.delete(iteration);
    this.#open.set(iteration, rows);
  }

  /** Ends an iteration. Returns whether its batch was the most recent of all. */
  #end(iteration: object): boolean {
    const isLatest = [...this.#open.keys()].at(-1) === iteration;
    this.#open.delete(iteration);
    return isLatest;
  }
}
