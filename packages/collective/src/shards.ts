import type { NativeTensor, Pending, ShardVerbOptions } from '@acc/contract';
import { MemoryFlag, memoryFlags, operator, operatorInPlace, type Tensor as Native } from '@acc/native';
import type { Words } from './agreement.js';
import type { Context } from './context.js';
import { requireNarrowable, requirePlace, type Movable } from './tensors.js';

const copyInto = operatorInPlace('aten::copy_');
const newEmpty = operator('aten::new_empty');
const toDtype = operator('aten::to.dtype');

interface Travel {
  readonly donate?: boolean | undefined;
  readonly wireDtype?: ShardVerbOptions<unknown>['wireDtype'] | undefined;
}

/** What travels for `x`, which stays the owner of its memory unless it is given away. The caller disposes it. */
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

/** Where a call's result arrives, and what becomes of it there. */
export interface Arrival {
  /** The tensor that the call fills. */
  readonly output: Native;
  /** What the result is when it is filled; to be called once. */
  finish(): NativeTensor;
}

/**
 * Memory for a result of `shape`, which comes in elements of `input`. That of `into` where nothing else holds it; `into` is
 * disposed.
 */
export function arrival<T extends Movable>(
  context: Context<T>,
  input: NativeTensor,
  shape: readonly number[],
  { into, wireDtype }: Pick<ShardVerbOptions<T>, 'into' | 'wireDtype'>,
): Arrival {
  const place = into && placeIn(context, into, wireDtype ? 'float32' : input.dtype);
  if (!wireDtype) {
    const output = place ?? newEmpty(input as Native, shape);
    return { output, finish: () => output };
  }
  const output = newEmpty(input as Native, shape);
  return {
    output,
    finish() {
      const wide = place ? filled(place, output) : toDtype(output, 'float32');
      output.dispose();
      return wide;
    },
  };
}

/** The memory of `into`, which is disposed; undefined where somebody else holds it, or it has elements of another type. */
export function placeIn<T extends Movable>(
  { bridge }: Context<T>,
  into: T,
  dtype: NativeTensor['dtype'],
): Native | undefined {
  // Where tensors are no native ones, theirs would be a copy.
  const native = bridge.borrow && (bridge.toNative(into) as Native);
  into.dispose();
  if (!native) return undefined;
  if (native.dtype === dtype && memoryFlags([native])[0]! & MemoryFlag.exclusive) return native;
  native.dispose();
  return undefined;
}

/** `place` with the values of `source`. */
export function filled(place: Native, source: NativeTensor): Native {
  copyInto(place, source as Native);
  return place;
}

/** A call whose result arrives. `input` is disposed when it has ended. */
export function arriving<T extends Movable>(
  context: Context<T>,
  words: Words,
  start: () => Pending<void>,
  { input, to, dtype }: { input: Pick<Movable, 'dispose'>; to: Arrival; dtype: T['dtype'] },
): Pending<T> {
  return context.started(words, start, () => {
    input.dispose();
    return context.bridge.fromNative(to.finish(), dtype);
  });
}

/** @throws AccError `ACC_COLLECTIVE_SHAPE`, `ACC_COLLECTIVE_DTYPE` where a result does not fit into the tensor given for it. */
export function requireFits<T extends Movable>(
  x: T,
  shape: readonly number[],
  into: T | undefined,
  collective: string,
): void {
  if (into) requirePlace(into, { dtype: x.dtype, shape }, collective);
}
