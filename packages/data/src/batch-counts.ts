/** How many rows each rank has in one step. A row is a sample of a loader, or what dim 0 of a batch's tensors counts. */
export interface BatchCounts {
  /** Rows given out in this step, by rank. 0: the rank has no batch in it. */
  readonly rows: readonly number[];
  /** Those of them that are not filling, by rank. Within a rank's batch they come first. */
  readonly realRows: readonly number[];
  /** No further batch follows on this rank. */
  readonly isLast: boolean;
}

/** Awaited before each batch is given out, and before the iteration ends; what the loop has done with earlier ones is done. */
export type AtBoundary = () => void | Promise<void>;

/**
 * Called with the counts and the batch right before it is given out, and with undefined when the iteration ends.
 *
 * @param iteration The same object in all calls of one iteration.
 */
export type OnBatch = (counts: BatchCounts | undefined, batch: unknown, iteration: object) => void;

/** A batch of this rank with the counts of all ranks. */
export interface Step<T> {
  readonly batch: T;
  readonly counts: BatchCounts;
  /** What all ranks together have been given of the epoch after it. */
  readonly end: number;
}
