import type { NativeTensor, Pending, ShardVerbOptions } from '@acc/contract';
import {
  libtorchTensor,
  MemoryFlag,
  memoryFlags,
  operator,
  operatorInPlace,
  type Tensor as Native,
} from '@acc/native';
import type { Words } from './agreement.js';
import type { Context } from './context.js';
import { requireNarrowable, requirePlace, type Movable } from './tensors.js';

const copyInto = operatorInPlace('aten::copy_');
const toDtype = operator('aten::to.dtype');

interface Travel {
  readonly donate?: boolean | undefined;
  readonly wireDtype?: ShardVerbOptions<unknown>['wireDtype'] | undefined;
}

/**
 * The native tensor that is sent for `x`, converted to `wireDtype` if that is given. With `donate`,
 * disposes `x`. The caller disposes the result.
 */
export function travelling<T extends Movable>(
  context: Context<T>,
  x: T,
  collective: string,
  { donate, wireDtype }: Travel,
): Native {
  if (wireDtype) requireNarrowable(x, wireDtype);
  const wide = context.native(x, collective);
  const travels = wireDtype ? toDtype(wide, wireDtype) : wide;
  if (travels !== wide) wide.dispose();
  if (donate) x.dispose();
  return travels;
}

/** The destination of a call's result. */
export interface Arrival {
  /** The tensor that the call writes to. */
  readonly output: Native;
  /** Tensors that are disposed if the call fails. */
  readonly holds: readonly Native[];
  /** Returns the result after the call has filled `output`. Call it once. */
  finish(): NativeTensor;
}

/**
 * Prepares memory for a result of `shape`. Elements arrive with the dtype of `input`; with
 * `wireDtype` the result is converted to float32. The result uses the memory of `into` if no other
 * tensor holds that memory. Disposes `into`.
 */
export function arrival<T extends Movable>(
  context: Context<T>,
  input: NativeTensor,
  shape: readonly number[],
  { into, wireDtype }: Pick<ShardVerbOptions<T>, 'into' | 'wireDtype'>,
): Arrival {
  const place = into && placeIn(context, into, wireDtype ? 'float32' : input.dtype);
  if (!wireDtype) {
    const output = place ?? context.empty(input as Native, shape);
    return { output, holds: [output], finish: () => output };
  }
  const output = context.empty(input as Native, shape);
  return {
    output,
    holds: place ? [output, place] : [output],
    finish() {
      const wide = place ? filled(place, output) : toDtype(output, 'float32');
      output.dispose();
      return wide;
    },
  };
}

/**
 * The memory of `into`, as a native tensor. Disposes `into`. Undefined if another tensor holds that
 * memory, or if its dtype is not `dtype`.
 */
export function placeIn<T extends Movable>(
  { bridge }: Context<T>,
  into: T,
  dtype: NativeTensor['dtype'],
): Native | undefined {
  // Without `borrow`, `toNative` returns a copy, so there is no memory to reuse.
  const native = bridge.borrow && libtorchTensor(bridge.toNative(into));
  into.dispose();
  if (!native) return undefined;
  if (native.dtype === dtype && memoryFlags([native])[0]! & MemoryFlag.exclusive) return native;
  native.dispose();
  return undefined;
}

/** Copies the values of `source` into `place` and returns `place`. */
export function filled(place: Native, source: NativeTensor): Native {
  copyInto(place, source as Native);
  return place;
}

/** Starts a call and returns a handle to its result. Disposes `input` when the call ends. */
export function arriving<T extends Movable>(
  context: Context<T>,
  words: Words,
  start: () => Pending<void>,
  { input, to, dtype }: { input: Pick<Movable, 'dispose'>; to: Arrival; dtype: T['dtype'] },
): Pending<T> {
  const finish = () => {
    input.dispose();
    return context.bridge.fromNative(to.finish(), dtype);
  };
  return context.started(words, start, finish, [input, ...to.holds]);
}

/**
 * Checks that a result fits `into`, if given. @throws AccError `ACC_COLLECTIVE_SHAPE`,
 * `ACC_COLLECTIVE_DTYPE`.
 */
export function requireFits<T extends Movable>(
  x: T,
  shape: readonly number[],
  into: T | undefined,
  collective: string,
): void {
  if (into) requirePlace(into, { dtype: x.dtype, shape }, collective);
}
