import type { Tensor } from '@tensorflow/tfjs-core';
import type { NativeTensor } from './native-tensor.js';

/**
 * How ranks' elements are combined. `mean` is for floating elements; of booleans `sum` and `max` are "any", `product` and
 * `min` "all".
 */
export type ReduceOp = 'sum' | 'mean' | 'max' | 'min' | 'product';

/** A collective under way. */
export interface Pending<T> {
  /** True once `wait` would not block. */
  readonly isDone: boolean;
  /**
   * Blocks until the collective has ended and gives its result, which the caller owns. Called twice it gives the
   * same result.
   *
   * @throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST`, `ACC_COLLECTIVE_FAILED`; of engines that compare calls on
   * their way also `ACC_COLLECTIVE_MISMATCH`.
   */
  wait(): T;
}

/** The collectives that come as blocking calls and with a handle. */
interface Verbs<T> {
  /** The values of `fromRank` on every rank; same shape and dtype everywhere. */
  broadcast(x: T, fromRank?: number): T;
  /** Element by element over ranks; same shape and dtype everywhere, which are the result's. */
  allReduce(x: T, op?: ReduceOp, options?: AllReduceOptions): T;
  /** The same on `toRank` only; null elsewhere. */
  reduce(x: T, op?: ReduceOp, toRank?: number): T | null;
  /** Joined along dim 0 in the order of the ranks; a scalar becomes `[size]`. Dim 0 may differ between ranks, unless `even` is given. */
  allGather(x: T, options?: AllGatherOptions<T>): T;
  /** The same on `toRank` only; null elsewhere. */
  gather(x: T, toRank?: number): T | null;
  /** Cuts the tensor of `fromRank` along dim 0 into `size` equal parts, one for each rank. The others give null. */
  scatter(x: T | null, fromRank?: number): T;
  /** Reduced over ranks, then cut along dim 0 into `size` equal parts, of which this rank gets its own. */
  reduceScatter(x: T, op?: ReduceOp, options?: ShardVerbOptions<T>): T;
  /**
   * Cuts along dim 0, sends part r to rank r and joins what comes in the order of the ranks. Parts are equal, or have
   * `rows[r]` rows.
   */
  allToAll(x: T, rows?: readonly number[]): T;
  /** Gives a tensor to another rank, which calls `recv`. Tensors of one pair of ranks arrive in their order. */
  send(x: T, toRank: number): void;
  /** The next tensor that `fromRank` sends here, of whatever shape and dtype. */
  recv(fromRank: number): T;
  /** {@link broadcast} of several tensors in one call for each dtype. */
  broadcastCoalesced(xs: readonly T[], fromRank?: number): T[];
  allReduceCoalesced(xs: readonly T[], op?: ReduceOp, options?: CoalescedOptions): T[];
  /** {@link allGather}, with as many rows on every rank. */
  allGatherCoalesced(xs: readonly T[], options?: ShardVerbOptions<readonly T[]>): T[];
  reduceScatterCoalesced(xs: readonly T[], op?: ReduceOp, options?: ShardVerbOptions<readonly T[]>): T[];
}

type WithHandle<V> = {
  readonly [K in keyof V & string as `${K}Async`]: V[K] extends (...args: infer A) => infer R
    ? (...args: A) => Pending<R>
    : never;
};

/**
 * Collectives over tensors of type `T`. Every rank of the group calls the same verbs in the same order with tensors that
 * agree as the verb asks; ranks that differ get `ACC_COLLECTIVE_MISMATCH`, which lists what each rank had. `send` and
 * `recv` are between two ranks and stand beside that order.
 *
 * Arguments stay the caller's; results are the caller's to dispose. Every rank gets the same bits from a reduction. Each
 * verb also starts without waiting (`allReduceAsync`, …) and then gives a {@link Pending}.
 */
export interface CollectiveOf<T> extends Verbs<T>, WithHandle<Verbs<T>> {
  readonly rank: number;
  readonly size: number;
  /** The engine that moves the bytes: `shm`, `gloo`, or `single` where there is one rank. */
  readonly engine: string;
  /** The number in the job of each rank of this group. Messages of a sub-group name both. */
  readonly worldRanks: readonly number[];
  /**
   * Makes a group of some ranks of this one, numbered in the order of the list. Every rank of this group calls it, with the same
   * lists in the same order, and gets undefined for a group that it is not in. Groups stand beside each other: only calls of one
   * group have an order, and a rank that waits in one goes on with those that it has started in others. The engine is chosen as
   * for the whole job. Closing this group closes it, too.
   *
   * @throws AccError `ACC_COLLECTIVE_MISMATCH` with each rank's list, `ACC_COLLECTIVE_RANK` for a list with ranks that there are not, or
   * twice: each on every rank.
   */
  subgroup(ranks: readonly number[]): CollectiveOf<T> | undefined;
  /** Returns when every rank has called it. */
  barrier(): void;
  /** The object of `fromRank` on every rank. Objects are what JSON can hold, typed arrays included. */
  broadcastObject<O>(object: O, fromRank?: number): O;
  /** Every rank's object, in the order of the ranks. */
  allGatherObject<O>(object: O): O[];
  /**
   * Runs `fn`, whose calls are made for `name`, a variable say. Ranks whose calls are for different names get
   * `ACC_COLLECTIVE_MISMATCH` with both, although shapes and dtypes agree. Inside another `named` the inner name counts, and ''
   * stands for none.
   */
  named<R>(name: string, fn: () => R): R;
  /** Leaves the group. Calls after that are `ACC_COLLECTIVE_CLOSED`. */
  close(): void;
}

/** Collectives over tfjs tensors. */
export type Collective = CollectiveOf<Tensor>;

/** Collectives over native tensors, of every element type. */
export type NativeCollective = CollectiveOf<NativeTensor>;

export interface AllReduceOptions {
  /**
   * The caller gives `x` away: the call disposes it, and its memory holds the result where no clone, view or reshaped tensor
   * holds that memory too. Others keep their values. Saves a copy.
   */
  readonly donate?: boolean;
  /** Ranks were compared before (a bucket of a prepared model): no round for comparing this call alone. */
  readonly agreed?: boolean;
  /** The element type that a float32 tensor travels and is summed in: half the bytes, rounded. The result is float32. */
  readonly wireDtype?: 'bfloat16' | 'float16';
}

/** How tensors go between a whole and the shards of ranks. `Place` is a tensor, or a list of them where several travel together. */
export interface ShardVerbOptions<Place> {
  /** The caller gives the arguments away: the call disposes them, so that their memory is free as soon as it has ended. */
  readonly donate?: boolean;
  /** Ranks were compared before, shapes included: no round for comparing this call alone. */
  readonly agreed?: boolean;
  /** The element type that float32 tensors travel, and are summed, in: half the bytes, rounded. Results are float32. */
  readonly wireDtype?: 'bfloat16' | 'float16';
  /**
   * Tensors of the results' shapes and dtypes that the caller gives away. The call disposes them, and their memory holds the results
   * where nothing else holds that memory. Clones, views and reshaped tensors keep their values.
   *
   * @throws AccError `ACC_COLLECTIVE_SHAPE`, `ACC_COLLECTIVE_DTYPE` for tensors that don't fit.
   */
  readonly into?: Place;
}

export interface AllGatherOptions<T> extends ShardVerbOptions<T> {
  /** Ranks have as many rows: no round for exchanging their numbers. So it is, too, where they are `agreed`. */
  readonly even?: boolean;
}

export interface CoalescedOptions {
  /**
   * The caller gives `xs` away: the results may be the same tensors, with other values. Clones, views and reshaped tensors of
   * them keep their values. Saves copies.
   */
  readonly donate?: boolean;
  /** As in {@link AllReduceOptions}. */
  readonly agreed?: boolean;
}
