import type { Tensor } from '@tensorflow/tfjs-core';

export type ReduceOp = 'sum' | 'mean' | 'max' | 'min' | 'product';

/** A collective under way. */
export interface Pending<T> {
  /** True once `wait` would not block. */
  readonly isDone: boolean;
  /**
   * Blocks until the collective has ended and gives its result, which the caller owns. Called twice it gives the
   * same result.
   *
   * @throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST`.
   */
  wait(): T;
}

/**
 * Collectives over tfjs tensors. Every rank of the group calls the same verbs in the same order with tensors that
 * agree as the verb asks; ranks that differ get `ACC_COLLECTIVE_MISMATCH`, which lists what each rank had.
 * Arguments stay the caller's; results are the caller's to dispose.
 */
export interface Collective {
  readonly rank: number;
  readonly size: number;
  /** The engine that moves the bytes: `gloo`, or `single` where there is one rank. */
  readonly engine: string;

  /** The values of `fromRank` on every rank; same shape and dtype everywhere. */
  broadcast(x: Tensor, fromRank?: number): Tensor;
  broadcastAsync(x: Tensor, fromRank?: number): Pending<Tensor>;
  /** Element by element over ranks; same shape and dtype everywhere. `mean` and `sum` keep the dtype. */
  allReduce(x: Tensor, op?: ReduceOp): Tensor;
  allReduceAsync(x: Tensor, op?: ReduceOp, options?: AllReduceOptions): Pending<Tensor>;
  /** Joined along dim 0 in the order of the ranks; a scalar becomes `[size]`. Dim 0 may differ between ranks. */
  allGather(x: Tensor): Tensor;
  allGatherAsync(x: Tensor): Pending<Tensor>;
  /** Reduced over ranks, then cut along dim 0 into `size` equal parts, of which this rank gets its own. */
  reduceScatter(x: Tensor, op?: ReduceOp): Tensor;
  reduceScatterAsync(x: Tensor, op?: ReduceOp): Pending<Tensor>;
  /** Returns when every rank has called it. */
  barrier(): void;
  /** The object of `fromRank` on every rank. Objects are what JSON can hold, typed arrays included. */
  broadcastObject<T>(object: T, fromRank?: number): T;
  /** Every rank's object, in the order of the ranks. */
  allGatherObject<T>(object: T): T[];
  /** Leaves the group. Calls after that are `ACC_COLLECTIVE_CLOSED`. */
  close(): void;
}

export interface AllReduceOptions {
  /** The caller gives `x` away: its memory may hold the result, and `wait` disposes it. Saves a copy. */
  readonly donate?: boolean;
  /** Ranks were compared before (a bucket of a prepared model): no comparison for this call. */
  readonly agreed?: boolean;
}
