import * as z from 'zod';

/** How prepared data is distributed to ranks. */
export interface DataLoaderOptions {
  /**
   * True: the batch size is that of all ranks together. False (default): it is that of each rank.
   */
  readonly splitBatches?: boolean;
  /**
   * Fills the last step from the start of the data, so that all ranks take the same number of
   * batches. Default true.
   */
  readonly evenBatches?: boolean;
  /**
   * Whether tensors given to `prepare` as data are shuffled in each epoch. Default true, as in
   * `fit`.
   */
  readonly shuffle?: boolean;
  /**
   * Rank 0 alone reads prepared data, and sends the other ranks their batches. For a DataLoader,
   * tensors and records of tensors. Default false: each rank reads its own samples.
   */
  readonly dispatchBatches?: boolean;
  /**
   * The number of batches of prepared data that are made while the loop computes. Default 0. A
   * DataLoader may have its own.
   */
  readonly prefetch?: number;
  /**
   * Whether batches are copied to a GPU on a stream of their own, while it computes. With `prefetch`, the
   * copies of the next batches run beside this step. For GPUs; no GPU has run it. Default false.
   */
  readonly uploadStream?: boolean;
}

export const dataLoaderSchema = z.object({
  splitBatches: z.boolean().default(false),
  evenBatches: z.boolean().default(true),
  shuffle: z.boolean().default(true),
  dispatchBatches: z.boolean().default(false),
  prefetch: z.int().nonnegative().default(0),
  uploadStream: z.boolean().default(false),
});
