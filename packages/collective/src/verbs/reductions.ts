import type { AllReduceOptions, Pending, ReduceOp, ShardVerbOptions } from '@acc/contract';
import { operator } from '@acc/native';
import { described, orFreed, type Context } from '../context.js';
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
  const call = { ...described('allReduce', input), op };
  const words = orFreed([input], () => context.calls.agree(call, agreed));
  const output = donate ? input : context.empty(input, input.shape);
  const start = () => context.group.allReduce(input, output, op, { words });
  const finish = () => {
    if (output !== input) input.dispose();
    return context.bridge.fromNative(output, x.dtype);
  };
  return context.started(words, start, finish, [input, output]);
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
  const call = { ...described('allReduce', narrow), op };
  const words = orFreed([narrow], () => context.calls.agree(call, agreed));
  const start = () => context.group.allReduce(narrow, narrow, op, { words });
  const finish = () => {
    const sum = toDtype(narrow, 'float32');
    narrow.dispose();
    return context.bridge.fromNative(sum, x.dtype);
  };
  return context.started(words, start, finish, [narrow]);
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
  const words = orFreed([input], () => {
    requireReducible(input, op);
    return context.calls.agree({ ...described('reduce', input), op, root: toRank });
  });
  const output = context.rank === toRank ? context.empty(input, input.shape) : undefined;
  const start = () => context.group.reduce(input, output, op, toRank, { words });
  const finish = () => {
    input.dispose();
    return output ? context.bridge.fromNative(output, x.dtype) : null;
  };
  return context.started(words, start, finish, output ? [input, output] : [input]);
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
  const call = { ...described('reduceScatter', input), op };
  const words = orFreed([input, ...to.holds], () => context.calls.agree(call, options.agreed));
  const start = () => context.group.reduceScatter(input, to.output, op, { words });
  return arriving(context, words, start, { input, to, dtype });
}
