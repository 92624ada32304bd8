import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Mesh } from '@acc/contract';
import type { Determinism } from '@acc/deterministic';
import type { StepFunction } from '@acc/tfjs-internals';
import type { Pipelines } from '@acc/pipeline';
import type { PlaceInData } from '../prepare/place-in-data.js';
import type { BatchRows } from '../step/batch-rows.js';
import type { TrainingStep } from '../step/training-step.js';
import type { FitProgress } from './fit-progress.js';
import type { Turns } from './turns.js';

export interface FitContext extends PlaceInData {
  readonly trainingStep: TrainingStep;
  readonly mesh: Mesh;
  /** The ranks that get their own rows, or their own shards of rows. */
  readonly gradientRanks: Collective;
  readonly splitBatches: boolean;
  readonly seed: number;
  readonly progress: FitProgress;
  readonly turns: Turns;
  readonly pipelines: Pipelines;
  /** Awaited after each batch. */
  readonly atBoundary: (isEnd?: boolean) => Promise<void>;
  /**
   * With it, every rank validates all rows. If validation were divided, its sums would depend on
   * the number of ranks.
   */
  readonly determinism: Determinism | undefined;
  /** The dataset with this rank's share of the batches. A prepared dataset is returned unchanged. */
  shardDataset(dataset: object): ShardedData;
  isPrepared(dataset: object): boolean;
  /**
   * The share for validation. Nothing is filled, so every sample counts once. `onBatch` is called
   * for each batch.
   *
   * @param ranks Those that share the rows.
   */
  shardValidation(
    dataset: object,
    ranks: { readonly rank: number; readonly size: number },
    onBatch: (rows: BatchRows) => void,
  ): ShardedData;
}

/** A dataset with the batches of one rank. */
export interface ShardedData {
  /**
   * The same data, with a value that comes together with `done: true` as a batch, as in
   * tfjs-layers.
   */
  withResult(): ShardedData;
  /** Frees the batches of iterators that were not read to their end. */
  closeIterators(): Promise<void>;
  /** If the next iteration would resume at the end of another one, begins a new one instead. */
  passEnd(): void;
}

/** The current validation of `fit` or `fitDataset`. A separate `evaluate` of tensors runs on one rank alone. */
export interface Validation {
  /** The function with which `fit` evaluates its validation rows. */
  testFunction: StepFunction | null;
  /** The `validationData` of `fitDataset`. */
  data: unknown;
}

/** Functions and values that calls of `fit` and `fitDataset` use besides. */
export interface FitCalls {
  readonly validation: Validation;
  /** Compares the columns of `fit` over ranks. */
  readonly compareRows: (columns: readonly (Tensor | null)[]) => void;
  /** Makes ranks shuffle the dataset of `fitDataset` in one order. */
  readonly shareOrders: () => void;
}
