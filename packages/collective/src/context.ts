import { AccError, PendingResult, type NativeDtype, type NativeTensor, type Pending } from '@acc/contract';
import {
  arrayTypeOf,
  libtorchTensor,
  MemoryFlag,
  memoryFlags,
  operator,
  Tensor,
  type Tensor as Native,
} from '@acc/native';
import type { CallDescription, CollectiveName, Words } from './agreement.js';
import type { Calls } from './calls.js';
import type { GroupEngine } from './group-engine.js';
import { requireNumeric, requireRank, sizeOf, type BridgeOf, type Movable } from './tensors.js';

const cloneNative = operator('aten::clone');
const newEmpty = operator('aten::new_empty');
const empty = operator('aten::empty.memory_format');
const zeros = operator('aten::zeros');

function ofJavaScript(dtype: NativeDtype, shape: readonly number[]): Native {
  const length = sizeOf(shape) * (dtype === 'complex64' ? 2 : 1);
  return Tensor.over(new (arrayTypeOf(dtype))(length), dtype, shape);
}

/** Tensors that a call has made or taken over. A second `dispose` of one does nothing. */
type Held = readonly Pick<Movable, 'dispose'>[];

/** Runs `body`, a part of a call. If it throws, disposes the tensors that the call holds. */
export function orFreed<R>(holds: Held, body: () => R): R {
  try {
    return body();
  } catch (error) {
    for (const each of holds) each.dispose();
    throw error;
  }
}

/** Work that fills one native tensor from another. */
interface Move<T extends Movable> {
  readonly input: Pick<Movable, 'dispose'>;
  readonly output: NativeTensor;
  /** Of the result. */
  readonly dtype: T['dtype'];
}

/** The group, tensor bridge and call checks that the verbs of one group share. */
export class Context<T extends Movable> {
  readonly rank: number;
  readonly size: number;

  constructor(
    readonly group: GroupEngine,
    readonly bridge: BridgeOf<T>,
    readonly calls: Calls,
  ) {
    this.rank = group.rank;
    this.size = group.size;
  }

  /**
   * Converts `x` to a contiguous native tensor. The caller disposes the result. @throws AccError
   * `ACC_COLLECTIVE_DTYPE`.
   */
  native(x: T, collective: string): Native {
    requireNumeric(x, collective);
    return libtorchTensor(this.bridge.toNative(x));
  }

  /**
   * Converts `x`, which the caller gives away, to a native tensor that may be overwritten. Disposes
   * `x`. The result takes over the memory of `x` if no other tensor holds that memory. Otherwise it
   * is a copy, because clones, views and reshaped tensors share memory with their source.
   */
  nativeToWrite(x: T, collective: string): Native {
    return this.nativesToWrite([x], collective)[0]!;
  }

  /** {@link nativeToWrite} of each. */
  nativesToWrite(xs: readonly T[], collective: string): Native[] {
    const natives = xs.map((x) => this.native(x, collective));
    for (const x of xs) x.dispose();
    const flags = memoryFlags(natives);
    return natives.map((native, i) => {
      if (flags[i]! & MemoryFlag.exclusive) return native;
      using shared = native;
      return cloneNative(shared);
    });
  }

  /**
   * A tensor of `shape` with any values, for a result. Tensors that are not in libtorch get memory of
   * JavaScript, which the result can have without a copy.
   */
  empty(like: Native, shape: readonly number[]): Native {
    return this.bridge.borrow ? newEmpty(like, shape) : ofJavaScript(like.dtype, shape);
  }

  zerosOf({
    nativeDtype,
    shape,
  }: {
    readonly nativeDtype: string;
    readonly shape: readonly number[];
  }): Native {
    return zeros(shape, nativeDtype as NativeDtype);
  }

  /** As {@link empty}, for a tensor that is like no other. */
  emptyOf(dtype: NativeDtype, shape: readonly number[]): Native {
    return this.bridge.borrow ? empty(shape, dtype) : ofJavaScript(dtype, shape);
  }

  /**
   * Starts work and returns a handle, which calls `finish` for the result once the work ends.
   * Errors name the call. After one, tensors that the call `holds` are disposed.
   */
  started<R>(call: Words | string, start: () => Pending<void>, finish: () => R, holds: Held): Pending<R> {
    const work = orFreed(holds, () => this.calls.explained(call, start));
    return new PendingResult([work], () => {
      orFreed(holds, () => this.calls.explained(call, () => work.wait()));
      return finish();
    });
  }

  /**
   * Starts work that fills `output` from `input`. Disposes `input` when the work ends. The handle
   * resolves to `output`.
   */
  moved(words: Words, start: () => Pending<void>, { input, output, dtype }: Move<T>): Pending<T> {
    const finish = () => {
      input.dispose();
      return this.bridge.fromNative(output, dtype);
    };
    return this.started(words, start, finish, [input, output]);
  }

  /** @throws AccError `ACC_COLLECTIVE_RANK`. */
  requireRank(rank: number): void {
    requireRank(rank, this.size);
  }

  /** @throws AccError `ACC_COLLECTIVE_RANK`. */
  requirePeer(rank: number): void {
    this.requireRank(rank);
    if (rank !== this.rank) return;
    throw new AccError('ACC_COLLECTIVE_RANK', `Rank ${rank} cannot send to itself.`, {
      help: 'Name another rank, or use the value as it is.',
    });
  }
}

/** Describes a call on a tensor by the properties that must be the same on every rank. */
export function described(collective: CollectiveName, { dtype, shape }: NativeTensor): CallDescription {
  return { collective, dtype, shape };
}
