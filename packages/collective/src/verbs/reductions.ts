import type { AllReduceOptions, Pending, ReduceOp, ShardVerbOptions } from '@acc/contract';
import { operator } from '@acc/native';
import { described, type Context } from '../context.js';
import { arrival, arriving, requireFits, travelling } from '../shards.js';
import {
  requireNarrowable,
  requireNumeric,
  requireReducible,
  rowsOfShard,
  type Movable,
} from '../tensors.js';

const toDtype = operator('aten::to.dtype');

export function allReduce<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  options: AllReduceOptions,
): Pending<T> {
  const { donate, agreed, wireDtype } = options;
  requireNumeric(x, 'allReduce');
  requireReducible(x, op);
  if (wireDtype) return allReduceNarrow(context, x, op, { ...options, wireDtype });
  const input = donate ? context.nativeToWrite(x, 'allReduce') : context.native(x, 'allReduce');
  const words = context.calls.agree({ ...described('allReduce', input), op }, agreed);
  const output = donate ? input : context.empty(input, input.shape);
  return context.started(
    words,
    () => context.group.allReduce(input, output, op, { words }),
    () => {
      if (output !== input) input.dispose();
      return context.bridge.fromNative(output, x.dtype);
    },
  );
}

interface NarrowOptions extends AllReduceOptions {
  readonly wireDtype: NonNullable<AllReduceOptions['wireDtype']>;
}

/** Like {@link allReduce}, but sends 16-bit elements. */
function allReduceNarrow<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  { donate, agreed, wireDtype }: NarrowOptions,
): Pending<T> {
  requireNarrowable(x, wireDtype);
  using wide = context.native(x, 'allReduce');
  const narrow = toDtype(wide, wireDtype, false, true);
  if (donate) x.dispose();
  const words = context.calls.agree({ ...described('allReduce', narrow), op }, agreed);
  return context.started(
    words,
    () => context.group.allReduce(narrow, narrow, op, { words }),
    () => {
      const sum = toDtype(narrow, 'float32');
      narrow.dispose();
      return context.bridge.fromNative(sum, x.dtype);
    },
  );
}

/**
 * Like {@link allReduce}, but without a handle and with as few calls as possible, because a small
 * collective takes only microseconds.
 */
export function allReduceNow<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  options: AllReduceOptions,
): T {
  const { bridge, calls, group } = context;
  if (!bridge.borrow || options.donate || options.wireDtype) return allReduce(context, x, op, options).wait();
  requireNumeric(x, 'allReduce');
  const input = bridge.borrow(x);
  requireReducible(input, op);
  const words = calls.agree({ ...described('allReduce', input), op }, options.agreed);
  return bridge.fromNative(
    calls.explained(words, () => group.allReduceNow(input, op, words)),
    x.dtype,
  );
}

export function reduce<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  toRank: number,
): Pending<T | null> {
  context.requireRank(toRank);
  const input = context.native(x, 'reduce');
  requireReducible(input, op);
  const words = context.calls.agree({ ...described('reduce', input), op, root: toRank });
  const output = context.rank === toRank ? context.empty(input, input.shape) : undefined;
  const start = () => context.group.reduce(input, output, op, toRank, { words });
  return context.started(words, start, () => {
    input.dispose();
    return output ? context.bridge.fromNative(output, x.dtype) : null;
  });
}

export function reduceScatter<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  options: ShardVerbOptions<T>,
): Pending<T> {
  requireNumeric(x, 'reduceScatter');
  requireReducible(x, op);
  const shape = [rowsOfShard(x.shape, context.size, 'reduceScatter'), ...x.shape.slice(1)];
  requireFits(x, shape, options.into, 'reduceScatter');
  const { dtype } = x;
  const input = travelling(context, x, 'reduceScatter', options);
  const to = arrival(context, input, shape, options);
  const words = context.calls.agree({ ...described('reduceScatter', input), op }, options.agreed);
  const start = () => context.group.reduceScatter(input, to.output, op, { words });
  return arriving(context, words, start, { input, to, dtype });
}
