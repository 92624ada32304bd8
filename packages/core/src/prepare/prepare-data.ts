import type { Tensor } from '@tensorflow/tfjs-core';
import {
  columns,
  DataLoader,
  dataKind,
  shardBatches,
  shardDataset,
  shardLoader,
  type DatasetLike,
  type ShardedDataset,
  type ShardOptions,
} from '@acc/data';
import type { ResolvedOptions } from '../options.js';
import type { BatchRows } from '../step/batch-rows.js';

/** Rows of a batch of tensors that were given without a batch size: tfjs's own default in `fit`. */
const DEFAULT_BATCH_SIZE = 32;

export interface DataPreparationOptions {
  readonly rank: number;
  readonly size: number;
  readonly options: Pick<ResolvedOptions, 'dataLoader' | 'seed'>;
  /** Hears of each batch before it is yielded, and of the end with undefined. */
  readonly onBatch: (rows: BatchRows | undefined) => void;
}

/** Gives each rank its part of data of every kind. */
export class DataPreparation {
  readonly #given: DataPreparationOptions;
  readonly #sharded = new WeakSet<object>();

  /** In place of the option, for epochs that begin now. */
  evenBatches: boolean | undefined;

  constructor(given: DataPreparationOptions) {
    this.#given = given;
  }

  /** The data as this rank sees it; undefined for what is not data. */
  prepare(object: unknown): object | undefined {
    const { dataLoader, seed } = this.#given.options;
    switch (dataKind(object)) {
      case 'loader':
        return this.#mark(shardLoader(object as DataLoader<unknown>, { ...this.#shardOptions(), seed }));
      case 'dataset':
        return this.shardOnce(object as object);
      case 'batches':
        return this.#mark(shardBatches(object as never[], this.#shardOptions()));
      case 'columns': {
        const { shuffle } = dataLoader;
        const loader = new DataLoader(columns(object as Tensor[]), {
          batchSize: DEFAULT_BATCH_SIZE,
          shuffle,
          seed,
        });
        return this.#mark(shardLoader(loader, { ...this.#shardOptions(), seed }));
      }
      default:
        return undefined;
    }
  }

  /** A tf.data.Dataset as this rank sees it; one that was prepared comes back as it is. */
  shardOnce(dataset: object): ShardedDataset<DatasetLike> {
    if (this.#sharded.has(dataset)) return dataset as ShardedDataset<DatasetLike>;
    return this.#mark(shardDataset(dataset as DatasetLike, this.#shardOptions()));
  }

  /** A dataset's batches for this rank, none of them twice; `onBatch` hears of each. */
  shardValidation(dataset: object, onBatch: (rows: BatchRows) => void): ShardedDataset<DatasetLike> {
    return shardDataset(dataset as DatasetLike, {
      ...this.#shardOptions(),
      evenBatches: false,
      onBatch: (rows) => rows && onBatch(rows),
    });
  }

  #mark<T extends object>(data: T): T {
    this.#sharded.add(data);
    return data;
  }

  #shardOptions(): ShardOptions {
    const { rank, size, onBatch, options } = this.#given;
    const { splitBatches, evenBatches } = options.dataLoader;
    return { rank, size, splitBatches, evenBatches: () => this.evenBatches ?? evenBatches, onBatch };
  }
}
