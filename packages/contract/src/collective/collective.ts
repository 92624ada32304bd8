import type { Tensor } from '@tensorflow/tfjs-core';
import type { NativeTensor } from '../tensor/native-tensor.js';

/**
 * How the elements of ranks are combined. `mean` needs floating-point elements. For booleans, `sum`
 * and `max` mean "any", `product` and `min` mean "all".
 */
export type ReduceOp = 'sum' | 'mean' | 'max' | 'min' | 'product';

/** A running collective. */
export interface Pending<T> {
  /** Whether `wait` would return at once. */
  readonly isDone: boolean;
  /**
   * Blocks until the collective has ended, and returns its result. The caller owns the result. A
   * second call returns the same result.
   *
   * @throws AccError `ACC_COLLECTIVE_TIMEOUT`, `ACC_PEER_LOST`, `ACC_COLLECTIVE_FAILED`,
   * `ACC_COLLECTIVE_DEADLOCK`. Engines that compare calls as they run also throw
   * `ACC_COLLECTIVE_MISMATCH`.
   */
  wait(): T;
}

/** The collectives that have a blocking form and a form with a handle. */
interface Verbs<T> {
  /** Copies the values of `fromRank` to every rank. Shape and dtype must be the same on all ranks. */
  broadcast(x: T, fromRank?: number): T;
  /**
   * Reduces elementwise over ranks. Shape and dtype must be the same on all ranks; the result has
   * them, too.
   */
  allReduce(x: T, op?: ReduceOp, options?: AllReduceOptions): T;
  /** Reduces elementwise over ranks. Returns the result on `toRank` and null on other ranks. */
  reduce(x: T, op?: ReduceOp, toRank?: number): T | null;
  /**
   * Concatenates the tensors of all ranks along dim 0, in the order of ranks. A scalar becomes
   * `[size]`. Dim 0 may differ between ranks unless `even` is set.
   */
  allGather(x: T, options?: AllGatherOptions<T>): T;
  /** Gathers like {@link allGather}. Returns the result on `toRank` and null on other ranks. */
  gather(x: T, toRank?: number): T | null;
  /**
   * Splits the tensor of `fromRank` along dim 0 into `size` equal shards, one for each rank. Other
   * ranks pass null.
   */
  scatter(x: T | null, fromRank?: number): T;
  /**
   * Reduces over ranks, then splits along dim 0 into `size` equal shards. Returns the shard of
   * this rank.
   */
  reduceScatter(x: T, op?: ReduceOp, options?: ShardVerbOptions<T>): T;
  /**
   * Splits the tensor along dim 0, sends shard r to rank r, and concatenates the received shards in
   * the order of ranks. Shards are equal, or have `rows[r]` rows.
   */
  allToAll(x: T, rows?: readonly number[]): T;
  /**
   * Sends a tensor to another rank, which calls `recv`. Tensors between two ranks arrive in order.
   */
  send(x: T, toRank: number, options?: MessageOptions): void;
  /** Receives the next tensor from `fromRank`, of any shape and dtype. */
  recv(fromRank: number, options?: MessageOptions): T;
  /** Runs {@link broadcast} on several tensors, in one call for each dtype. */
  broadcastCoalesced(xs: readonly T[], fromRank?: number): T[];
  allReduceCoalesced(xs: readonly T[], op?: ReduceOp, options?: CoalescedOptions): T[];
  /** Runs {@link allGather} on several tensors. Every rank must have the same number of rows. */
  allGatherCoalesced(xs: readonly T[], options?: ShardVerbOptions<readonly T[]>): T[];
  reduceScatterCoalesced(xs: readonly T[], op?: ReduceOp, options?: ShardVerbOptions<readonly T[]>): T[];
  /**
   * Runs {@link reduceScatter} on the elements of several tensors of one dtype, one after the other,
   * as if they were one flat tensor. Their number must be a multiple of `size`. Shared memory reads
   * the tensors where they are. Returns the shard of this rank, `[elements / size]`.
   */
  reduceScatterFlat(xs: readonly T[], op?: ReduceOp, options?: FlatOptions): T;
  /**
   * Runs {@link allGather} on the elements of several tensors of one dtype, one after the other, as
   * if they were one flat tensor. Every rank has the same number of elements. Shared memory reads the
   * tensors where they are: an asynchronous call needs their values until it ends. Returns
   * `[elements · size]`, in the order of ranks. `xs` may lie in the memory of `into`, each where it
   * arrives; shared memory then moves no element of this rank.
   */
  allGatherFlat(xs: readonly T[], options?: ShardVerbOptions<T>): T;
}

type WithHandle<V> = {
  readonly [K in keyof V & string as `${K}Async`]: V[K] extends (...args: infer A) => infer R
    ? (...args: A) => Pending<R>
    : never;
};

/**
 * Collectives over tensors of type `T`. Every rank of the group must call the same verbs in the
 * same order, with tensors that agree as the verb requires. If calls differ, every rank gets
 * `ACC_COLLECTIVE_MISMATCH`, which lists the call of each rank. `send` and `recv` involve only two
 * ranks, and are not part of this order.
 *
 * The caller keeps its arguments and owns the results. Every rank gets the same bits from a
 * reduction. Most verbs have an asynchronous form (`allReduceAsync`, …), which returns a {@link
 * Pending}.
 */
export interface CollectiveOf<T> extends Verbs<T>, WithHandle<Verbs<T>> {
  readonly rank: number;
  readonly size: number;
  /** The engine, for example `shm` or `gloo`. `single` means one rank. */
  readonly engine: string;
  /** The rank in the job of each rank of this group. Messages of a sub-group name both. */
  readonly worldRanks: readonly number[];
  /** The name of the host of each rank of this group. Absent if nobody knows them. */
  readonly hosts?: readonly string[];
  /** The traffic that this rank has sent in this group, without its sub-groups. Absent if nobody counts. */
  readonly traffic?: Traffic;
  /**
   * Creates a group of some ranks of this group, numbered in the order of the list. Every rank of
   * this group must call it with the same lists in the same order. It returns undefined on ranks
   * that are not in the list. Groups are independent: only the calls of one group are ordered, and
   * calls of other groups continue while a rank waits in one. The engine is chosen like that of the
   * job. Closing this group also closes the sub-group.
   *
   * @throws AccError on every rank: `ACC_COLLECTIVE_MISMATCH` with each rank's list,
   * `ACC_COLLECTIVE_RANK` if a list contains an unknown rank or repeats one.
   */
  subgroup(ranks: readonly number[]): CollectiveOf<T> | undefined;
  /** Returns when every rank has called it. */
  barrier(): void;
  /**
   * Copies the object of `fromRank` to every rank. Objects may contain JSON values and typed
   * arrays.
   */
  broadcastObject<O>(object: O, fromRank?: number): O;
  /** The objects of all ranks, in the order of ranks. */
  allGatherObject<O>(object: O): O[];
  /**
   * Runs `fn` and labels its calls with `name`, for example the name of a variable. If ranks' calls
   * have different names, they get `ACC_COLLECTIVE_MISMATCH` with both names, even if shapes and
   * dtypes agree. In nested calls the inner name counts. '' means no name.
   */
  named<R>(name: string, fn: () => R): R;
  /** Leaves the group. Later calls throw `ACC_COLLECTIVE_CLOSED`. */
  close(): void;
}

/** Collectives, messages and bytes that a rank has sent. */
export interface Traffic {
  /** Collectives and messages. */
  readonly calls: number;
  /**
   * The elements of tensors, as ring algorithms send them, whatever the engine does: an all-reduce
   * of B bytes over n ranks counts as 2 B (n - 1) / n. Also the headers of messages, which the first
   * message of a slot has, and every message without a slot. Objects are not counted.
   */
  readonly bytes: number;
}

/** Collectives over tfjs tensors. */
export type Collective = CollectiveOf<Tensor>;

/** Collectives over native tensors, of every element type. */
export type NativeCollective = CollectiveOf<NativeTensor>;

export interface AllReduceOptions {
  /**
   * Donates `x`: the call disposes it. The result uses its memory if no clone, view or reshaped
   * tensor shares it. Such tensors keep their values. This saves a copy.
   */
  readonly donate?: boolean;
  /**
   * Whether ranks were compared before, as for a bucket of a prepared model. The call then needs no
   * exchange to compare it.
   */
  readonly agreed?: boolean;
  /**
   * The element type in which a float32 tensor is sent and summed. It halves the bytes and rounds.
   * The result is float32.
   */
  readonly wireDtype?: 'bfloat16' | 'float16';
}

/**
 * Options for collectives between whole tensors and shards. `Place` is a tensor, or a list of
 * tensors for coalesced forms.
 */
export interface ShardVerbOptions<Place> {
  /** Donates the arguments: the call disposes them, so their memory is free when the call ends. */
  readonly donate?: boolean;
  /**
   * Whether ranks were compared before, including shapes. The call then needs no exchange to
   * compare it.
   */
  readonly agreed?: boolean;
  /**
   * The element type in which float32 tensors are sent and summed. It halves the bytes and rounds.
   * Results are float32.
   */
  readonly wireDtype?: 'bfloat16' | 'float16';
  /**
   * Tensors with the shapes and dtypes of the results. The call disposes them. The results use
   * their memory if no other tensor shares it. Clones, views and reshaped tensors keep their
   * values.
   *
   * @throws AccError `ACC_COLLECTIVE_SHAPE`, `ACC_COLLECTIVE_DTYPE` for tensors that do not match.
   */
  readonly into?: Place;
}

/** Options of a collective that takes a list of tensors as one flat tensor. */
export type FlatOptions = Omit<ShardVerbOptions<unknown>, 'into'>;

export interface AllGatherOptions<T> extends ShardVerbOptions<T> {
  /**
   * Whether all ranks have the same number of rows. The call then needs no exchange of row counts.
   * `agreed` implies it.
   */
  readonly even?: boolean;
}

export interface MessageOptions {
  /**
   * A name for messages between two ranks that all have one shape and element type. Shapes are then
   * exchanged once: only the first message of a slot in each direction has a header, and receives of
   * later ones start at once, so that they can be posted early. Both ranks give the same slots in
   * the same order.
   *
   * @throws AccError `ACC_COLLECTIVE_SHAPE` from `send` for another shape or element type.
   */
  readonly slot?: string;
  /**
   * Sends zeros of the shape and element type of the slot's earlier messages, if it had any, in
   * place of the tensor. A rank that failed to compute a message so sends what its receiver waits
   * for.
   */
  readonly isZeros?: boolean;
}

export interface CoalescedOptions {
  /**
   * Donates `xs`: the results may be the same tensors with new values. Clones, views and reshaped
   * tensors of them keep their values. This saves copies.
   */
  readonly donate?: boolean;
  /** See {@link AllReduceOptions}. */
  readonly agreed?: boolean;
}
