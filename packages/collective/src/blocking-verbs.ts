import type {
  AllGatherOptions,
  AllReduceOptions,
  CoalescedOptions,
  MessageOptions,
  CollectiveOf,
  FlatOptions,
  Pending,
  ReduceOp,
  ShardVerbOptions,
} from '@acc/contract';

/** The verbs that return a handle without waiting. */
type Started<T> = Pick<CollectiveOf<T>, Extract<keyof CollectiveOf<T>, `${string}Async`>>;

/** Implements each blocking verb by waiting on the handle of its `…Async` form. */
export abstract class BlockingVerbs<T> implements Started<T> {
  abstract broadcastAsync(x: T, fromRank?: number): Pending<T>;
  abstract allReduceAsync(x: T, op?: ReduceOp, options?: AllReduceOptions): Pending<T>;
  abstract reduceAsync(x: T, op?: ReduceOp, toRank?: number): Pending<T | null>;
  abstract allGatherAsync(x: T, options?: AllGatherOptions<T>): Pending<T>;
  abstract gatherAsync(x: T, toRank?: number): Pending<T | null>;
  abstract scatterAsync(x: T | null, fromRank?: number): Pending<T>;
  abstract reduceScatterAsync(x: T, op?: ReduceOp, options?: ShardVerbOptions<T>): Pending<T>;
  abstract allToAllAsync(x: T, rows?: readonly number[]): Pending<T>;
  abstract sendAsync(x: T, toRank: number, options?: MessageOptions): Pending<void>;
  abstract recvAsync(fromRank: number, options?: MessageOptions): Pending<T>;
  abstract broadcastCoalescedAsync(xs: readonly T[], fromRank?: number): Pending<T[]>;
  abstract allReduceCoalescedAsync(xs: readonly T[], op?: ReduceOp, options?: CoalescedOptions): Pending<T[]>;
  abstract allGatherCoalescedAsync(xs: readonly T[], options?: ShardVerbOptions<readonly T[]>): Pending<T[]>;
  abstract reduceScatterCoalescedAsync(
    xs: readonly T[],
    op?: ReduceOp,
    options?: ShardVerbOptions<readonly T[]>,
  ): Pending<T[]>;
  abstract reduceScatterFlatAsync(xs: readonly T[], op?: ReduceOp, options?: FlatOptions): Pending<T>;
  abstract allGatherFlatAsync(xs: readonly T[], options?: ShardVerbOptions<T>): Pending<T>;

  broadcast(x: T, fromRank?: number): T {
    return this.broadcastAsync(x, fromRank).wait();
  }

  allReduce(x: T, op?: ReduceOp, options?: AllReduceOptions): T {
    return this.allReduceAsync(x, op, options).wait();
  }

  reduce(x: T, op?: ReduceOp, toRank?: number): T | null {
    return this.reduceAsync(x, op, toRank).wait();
  }

  allGather(x: T, options?: AllGatherOptions<T>): T {
    return this.allGatherAsync(x, options).wait();
  }

  gather(x: T, toRank?: number): T | null {
    return this.gatherAsync(x, toRank).wait();
  }

  scatter(x: T | null, fromRank?: number): T {
    return this.scatterAsync(x, fromRank).wait();
  }

  reduceScatter(x: T, op?: ReduceOp, options?: ShardVerbOptions<T>): T {
    return this.reduceScatterAsync(x, op, options).wait();
  }

  allToAll(x: T, rows?: readonly number[]): T {
    return this.allToAllAsync(x, rows).wait();
  }

  send(x: T, toRank: number, options?: MessageOptions): void {
    this.sendAsync(x, toRank, options).wait();
  }

  recv(fromRank: number, options?: MessageOptions): T {
    return this.recvAsync(fromRank, options).wait();
  }

  broadcastCoalesced(xs: readonly T[], fromRank?: number): T[] {
    return this.broadcastCoalescedAsync(xs, fromRank).wait();
  }

  allReduceCoalesced(xs: readonly T[], op?: ReduceOp, options?: CoalescedOptions): T[] {
    return this.allReduceCoalescedAsync(xs, op, options).wait();
  }

  allGatherCoalesced(xs: readonly T[], options?: ShardVerbOptions<readonly T[]>): T[] {
    return this.allGatherCoalescedAsync(xs, options).wait();
  }

  reduceScatterCoalesced(xs: readonly T[], op?: ReduceOp, options?: ShardVerbOptions<readonly T[]>): T[] {
    return this.reduceScatterCoalescedAsync(xs, op, options).wait();
  }

  reduceScatterFlat(xs: readonly T[], op?: ReduceOp, options?: FlatOptions): T {
    return this.reduceScatterFlatAsync(xs, op, options).wait();
  }

  allGatherFlat(xs: readonly T[], options?: ShardVerbOptions<T>): T {
    return this.allGatherFlatAsync(xs, options).wait();
  }
}
