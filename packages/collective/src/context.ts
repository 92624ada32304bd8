import { AccError, PendingResult, type NativeTensor, type Pending } from '@acc/contract';
import type { ProcessGroup, Tensor as Native } from '@acc/native';
import type { CallDescription, CollectiveName, Words } from './agreement.js';
import type { Calls } from './calls.js';
import { requireNumeric, requireRank, type BridgeOf, type Movable } from './tensors.js';

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
