/**
 * The number of rows of each rank in one step. A row is a sample of a loader, or an index along dim
 * 0 of a batch's tensors.
 */
export interface BatchCounts {
  /** Rows yielded in this step, by rank. 0 if the rank has no batch in this step. */
  readonly rows: readonly number[];
  /** The number of these rows that are not filling, by rank. They come first in the rank's batch. */
  readonly realRows: readonly number[];
  /** Whether this is the last batch on this rank. */
  readonly isLast: boolean;
}

/**
 * Awaited before each batch is yielded, and before the iteration ends. By then the loop has
 * finished with the earlier batches. `isEnd`: the iteration ends because its data has ended.
 */
export type AtBoundary = (isEnd?: boolean) => void | Promise<void>;

/**
 * Called with the counts and the batch right before the batch is yielded, and with undefined when
 * the iteration ends.
 *
 * @param iteration The same object in all calls of one iteration.
 */
export type OnBatch = (counts: BatchCounts | undefined, batch: unknown, iteration: object) => void;

/** A batch of this rank and the counts of all ranks. */
export interface Step<T> {
  readonly batch: T;
  readonly counts: BatchCounts;
  /**
   * How much of the epoch all ranks together have received after this step. See {@link
   * DataPosition.position} for the unit.
   */
  readonly end: number;
}

/** The batches of all ranks in one step, which one rank has read. */
export interface DispatchedStep {
  /** By rank. The function that takes the step disposes them. */
  readonly batches: readonly unknown[];
  readonly counts: BatchCounts;
  /** See {@link Step.end}. */
  readonly end: number;
}

/**
 * Sends each rank its batch of the next step, and returns this rank's. Every rank calls it for the
 * same steps. Rank 0 passes the step, an error that ended its reading, or undefined at the end of
 * the data. Other ranks pass undefined.
 *
 * @returns Undefined at the end of the data.
 * @throws The error of rank 0, on every other rank.
 */
export type Dispatch = (
  step: DispatchedStep | { readonly error: unknown } | undefined,
) => Step<unknown> | undefined;
