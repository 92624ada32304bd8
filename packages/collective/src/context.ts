import { AccError, PendingResult, type NativeTensor, type Pending } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator, type ProcessGroup, type Tensor as Native } from '@acc/native';
import type { CallDescription, CollectiveName, Words } from './agreement.js';
import type { Calls } from './calls.js';
import { requireNumeric, requireRank, type BridgeOf, type Movable } from './tensors.js';

const cloneNative = operator('aten::clone');

/** What the verbs of a group share. */
export class Context<T extends Movable> {
  readonly rank: number;
  readonly size: number;

  constructor(
    readonly group: ProcessGroup,
    readonly bridge: BridgeOf<T>,
    readonly calls: Calls,
  ) {
    this.rank = group.rank;
    this.size = group.size;
  }

  /** The caller disposes it. @throws AccError `ACC_COLLECTIVE_DTYPE`. */
  native(x: T, collective: string): Native {
    requireNumeric(x, collective);
    return this.bridge.toNative(x) as Native;
  }

  /**
   * The same for a tensor that is given away, which it disposes: the result may be overwritten. It has the memory of `x` where
   * nothing else holds that memory, and is a copy elsewhere: clones, views and reshaped tensors share memory with their source.
   */
  nativeToWrite(x: T, collective: string): Native {
    const native = this.native(x, collective);
    x.dispose();
    if (memoryFlags([native])[0]! & MemoryFlag.exclusive) return native;
    using shared = native;
    return cloneNative(shared);
  }

  /** Starts work whose errors name the call, and makes its result when it has ended. */
  started<R>(call: Words | string, start: () => Pending<void>, finish: () => R): Pending<R> {
    const work = this.calls.explained(call, start);
    return new PendingResult([work], () => {
      this.calls.explained(call, () => work.wait());
      return finish();
    });
  }

  /** The result of work that turns `input`, which it then disposes, into `output`. */
  moved(
    words: Words,
    start: () => Pending<void>,
    input: Pick<Movable, 'dispose'>,
    output: NativeTensor,
    dtype: T['dtype'],
  ): Pending<T> {
    return this.started(words, start, () => {
      input.dispose();
      return this.bridge.fromNative(output, dtype);
    });
  }

  /** @throws AccError `ACC_COLLECTIVE_RANK`. */
  requireRank(rank: number): void {
    requireRank(rank, this.size);
  }

  /** @throws AccError `ACC_COLLECTIVE_RANK`. */
  requirePeer(rank: number): void {
    this.requireRank(rank);
    if (rank !== this.rank) return;
    throw new AccError('ACC_COLLECTIVE_RANK', `Rank ${rank} cannot send to itself.`);
  }
}

/** A call on a tensor, with what must be alike of it everywhere. */
export function described(collective: CollectiveName, { dtype, shape }: NativeTensor): CallDescription {
  return { collective, dtype, shape };
}
