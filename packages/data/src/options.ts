import { AccError, parseOptions } from '@acc/contract';
import { z } from 'zod';
import type { AtBoundary, OnBatch } from './batch-counts.js';

export interface DataLoaderOptions<Sample = never, Batch = unknown> {
  /** Samples in a batch of one rank; of all ranks together where the loader is sharded with `splitBatches`. */
  readonly batchSize: number;
  /** Shuffles anew for each epoch. Default false. */
  readonly shuffle?: boolean;
  /** Leaves out a last step that is not full on all ranks together, and so fills nothing. Default false. */
  readonly dropLast?: boolean;
  /** Fixes the order of every epoch. Default: the seed that the loader is sharded with, else 0. */
  readonly seed?: number;
  /**
   * Makes a batch of samples, in place of the default described in the README. It is run in `tf.tidy` and is
   * synchronous; what it returns belongs to whoever takes the batch.
   */
  readonly collate?: (samples: Sample[]) => Batch;
}

/** How one rank's part of the data is chosen. */
export interface ShardOptions {
  /** From 0. */
  readonly rank: number;
  /** How many ranks there are. */
  readonly size: number;
  /** True: each batch is cut into `size` parts. Default false: batches go to the ranks in turn. */
  readonly splitBatches?: boolean;
  /**
   * Fills the last step from the start of the data, so that ranks take equally many. A function is asked for each epoch.
   * Default true.
   */
  readonly evenBatches?: boolean | (() => boolean);
  /**
   * Has ranks share the rows of a loader's last step as equally as can be, in place of filling it. Default false.
   */
  readonly sharesLastStep?: boolean;
  readonly onBatch?: OnBatch;
  readonly atBoundary?: AtBoundary;
}

export interface LoaderShardOptions extends ShardOptions {
  /** The seed of loaders that have none of their own. Default 0. */
  readonly seed?: number;
}

const isFunction = (value: unknown) => typeof value === 'function';
const isSwitch = (value: unknown) => typeof value === 'boolean' || isFunction(value);

const loaderSchema = z.object({
  batchSize: z.int().positive(),
  shuffle: z.boolean().default(false),
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
  onBatch: z.custom<OnBatch>(isFunction, 'a function').optional(),
  atBoundary: z.custom<AtBoundary>(isFunction, 'a function').optional(),
});

const loaderShardSchema = shardSchema.extend({ seed: z.int().optional() });

export type LoaderConfig = Readonly<z.infer<typeof loaderSchema>>;
export type Shard = Readonly<z.infer<typeof shardSchema>>;
export type LoaderShard = Readonly<z.infer<typeof loaderShardSchema>>;

/** A loader that was not sharded: one rank has all. */
export const WHOLE: LoaderShard = {
  rank: 0,
  size: 1,
  splitBatches: false,
  evenBatches: true,
  sharesLastStep: false,
};

/** @throws AccError `ACC_UNKNOWN_OPTION`, `ACC_INVALID_OPTION`. */
export function resolveLoaderOptions(options: object): LoaderConfig {
  return parseOptions('DataLoader', loaderSchema, options);
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
  const { rank, size } = shard;
  if (rank < size) return shard;
  throw new AccError('ACC_INVALID_OPTION', `${where}: rank ${rank} of ${size} ranks; they count from 0.`, {
    details: { path: ['rank'], rank, size },
  });
}

/** Whether a last step that is not full is filled. One rank alone has nobody to keep step with. */
export function fillsLastStep({ evenBatches, size }: Shard): boolean {
  return size > 1 && (typeof evenBatches === 'function' ? evenBatches() : evenBatches);
}
