import { AccError, parseOptions } from '@acc/contract';
import type { Sampler } from '@acc/formats';
import { requireAvailable } from '#platform/requirements';
import * as z from 'zod';
import type { AtBoundary, Dispatch, OnBatch } from './batch-counts.js';
import type { Drawing } from './drawing.js';
import type { SequenceShard } from './sequence-shard.js';

export interface DataLoaderOptions<Sample = never, Batch = unknown> {
  /** The number of samples in a batch of one rank. With `splitBatches`, of all ranks together. */
  readonly batchSize: number;
  /** Shuffles each epoch in a new order. Default false. */
  readonly shuffle?: boolean;
  /**
   * Chooses the samples of each epoch and their order: `weightedSampler`, `lengthSampler`,
   * `curriculumSampler`, `blockSampler`, or your own. Takes the place of `shuffle`.
   */
  readonly sampler?: Sampler;
  /**
   * Changes each batch, for example `growSequences(…)`. `samplesBefore` is the number of samples
   * that all ranks together received before the step, over all epochs. It must be synchronous, and
   * runs in `tf.tidy`. The reader of the batch owns the returned tensors.
   */
  readonly transform?: (batch: Batch, samplesBefore: number) => Batch;
  /**
   * The number of batches that are made while the loop computes. Default: that of the shard
   * options; with `numWorkers`, 2 for each worker.
   */
  readonly prefetch?: number;
  /**
   * The number of worker threads that read and combine samples. The dataset must be one that they
   * can open: {@link moduleDataset}. Default 0: this thread.
   */
  readonly numWorkers?: number;
  /**
   * Leaves out the last step if it is not full on all ranks together, so nothing is filled. Default
   * false.
   */
  readonly dropLast?: boolean;
  /** Determines the order of every epoch. Default: the seed of the shard options, else 0. */
  readonly seed?: number;
  /**
   * Combines samples into a batch. Default: the collation that the README describes. It must be
   * synchronous, and runs in `tf.tidy`. The reader of the batch owns the returned tensors.
   */
  readonly collate?: (samples: Sample[]) => Batch;
}

/** How the share of one rank is chosen. */
export interface ShardOptions {
  /** This rank, from 0. */
  readonly rank: number;
  /** The number of ranks. */
  readonly size: number;
  /** True: each batch is split into `size` parts. Default false: ranks take batches in turn. */
  readonly splitBatches?: boolean;
  /**
   * Fills the last step from the start of the data, so that all ranks take the same number of
   * batches. A function is called for each epoch. Default true.
   */
  readonly evenBatches?: boolean | (() => boolean);
  /**
   * Distributes the rows of a loader's last step evenly over the ranks instead of filling it.
   * Default false.
   */
  readonly sharesLastStep?: boolean;
  /** The number of batches that are made while the loop computes. Default 0. */
  readonly prefetch?: number;
  /**
   * The shard of dim 1 that this rank takes of each tensor of rank 2 and above. Ranks with other
   * shards of the same rows have the same `rank`. Default: the whole tensor.
   */
  readonly sequence?: SequenceShard;
  readonly onBatch?: OnBatch;
  readonly atBoundary?: AtBoundary;
  /** Runs each read of a tf.data dataset, for example in a context. Default: calls it. */
  readonly read?: Read | undefined;
}

/** Runs a read of a dataset. */
export type Read = <T>(read: () => Promise<T>) => Promise<T>;

export interface LoaderShardOptions extends ShardOptions {
  /** Rank 0 reads the data, and sends the other ranks their batches. Default: every rank reads. */
  readonly dispatch?: Dispatch;
  /** The seed of loaders without their own. Default 0. */
  readonly seed?: number;
  /** Runs code of the program that may draw random numbers. Default: calls it. */
  readonly drawing?: Drawing | undefined;
}

const isFunction = (value: unknown) => typeof value === 'function';
const isSwitch = (value: unknown) => typeof value === 'boolean' || isFunction(value);

type Transform = (batch: unknown, samplesBefore: number) => unknown;

function isSampler(value: unknown): boolean {
  const { size, order } = (value ?? {}) as Partial<Sampler>;
  return isFunction(size) && isFunction(order);
}

const loaderSchema = z.object({
  batchSize: z.int().positive(),
  shuffle: z.boolean().default(false),
  sampler: z.custom<Sampler>(isSampler, 'a sampler: an object with size() and order()').optional(),
  transform: z.custom<Transform>(isFunction, 'a function').optional(),
  prefetch: z.int().nonnegative().optional(),
  numWorkers: z.int().nonnegative().default(0),
  dropLast: z.boolean().default(false),
  seed: z.int().optional(),
  collate: z.custom<(samples: unknown[]) => unknown>(isFunction, 'a function').optional(),
});

const shardSchema = z.object({
  rank: z.int().nonnegative(),
  size: z.int().positive(),
  splitBatches: z.boolean().default(false),
  evenBatches: z.custom<boolean | (() => boolean)>(isSwitch, 'true, false or a function').default(true),
  sharesLastStep: z.boolean().default(false),
  prefetch: z.int().nonnegative().default(0),
  sequence: z.object({ index: z.int().nonnegative(), size: z.int().positive() }).optional(),
  onBatch: z.custom<OnBatch>(isFunction, 'a function').optional(),
  atBoundary: z.custom<AtBoundary>(isFunction, 'a function').optional(),
  read: z.custom<Read>(isFunction, 'a function').optional(),
});

const loaderShardSchema = shardSchema.extend({
  seed: z.int().optional(),
  dispatch: z.custom<Dispatch>(isFunction, 'a function').optional(),
  drawing: z.custom<Drawing>(isFunction, 'a function').optional(),
});

export type LoaderConfig = Readonly<z.infer<typeof loaderSchema>>;
export type Shard = Readonly<z.infer<typeof shardSchema>>;
export type LoaderShard = Readonly<z.infer<typeof loaderShardSchema>>;

/** A loader that is not sharded: one rank reads everything. */
export const WHOLE: LoaderShard = {
  rank: 0,
  size: 1,
  splitBatches: false,
  evenBatches: true,
  sharesLastStep: false,
  prefetch: 0,
};

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveLoaderOptions(options: object): LoaderConfig {
  const config = parseOptions('DataLoader', loaderSchema, options);
  requireAvailable(config);
  if (!config.shuffle || !config.sampler) return config;
  throw new AccError('ACC_INVALID_OPTION', "DataLoader: 'shuffle' does not apply beside 'sampler'.", {
    help: "Leave out 'shuffle': the sampler decides the order.",
    details: { path: ['shuffle'] },
  });
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveShard(where: string, options: ShardOptions): Shard {
  return checkRank(where, parseOptions(where, shardSchema, options));
}

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveLoaderShard(where: string, options: LoaderShardOptions): LoaderShard {
  return checkRank(where, parseOptions(where, loaderShardSchema, options));
}

function checkRank<S extends Shard>(where: string, shard: S): S {
  requireAvailable(shard);
  const { rank, size } = shard;
  if (rank < size) return shard;
  throw new AccError(
    'ACC_INVALID_OPTION',
    `${where}: rank ${rank} is out of range for ${size} ranks, which count from 0.`,
    {
      help: `Give a rank from 0 to ${size - 1}.`,
      details: { path: ['rank'], rank, size },
    },
  );
}

/** Whether a last step that is not full is filled. A single rank does not need it. */
export function fillsLastStep({ evenBatches, size }: Shard): boolean {
  return size > 1 && (typeof evenBatches === 'function' ? evenBatches() : evenBatches);
}
