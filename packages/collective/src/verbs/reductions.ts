import type { AllReduceOptions, Pending, ReduceOp } from '@acc/contract';
import { operator } from '@acc/native';
import { described, type Context } from '../context.js';
import { requireNumeric, requireReducible, rowsOfPart, type Movable } from '../tensors.js';

const newEmpty = operator('aten::new_empty');

export function allReduce<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  { donate, agreed }: AllReduceOptions,
): Pending<T> {
  const input = context.native(x, 'allReduce');
  requireReducible(input, op);
  const words = context.calls.agree({ ...described('allReduce', input), op }, agreed);
  const output = donate ? input : newEmpty(input, input.shape);
  const start = () => context.group.allReduce(input, output, op, { words });
  // What was given away lives on in the result's memory.
  return context.moved(words, start, donate ? x : input, output, x.dtype);
}

/** The same without a handle and with as few calls as can be, since small ones take microseconds. */
export function allReduceNow<T extends Movable>(
  context: Context<T>,
  x: T,
  op: ReduceOp,
  options: AllReduceOptions,
): T {
  const { bridge, calls, group } = context;
  if (!bridge.borrow || options.donate) return allReduce(context, x, op, options).wait();
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
  const output = context.rank === toRank ? newEmpty(input, input.shape) : undefined;
  const start = () => context.group.reduce(input, output, op, toRank, { words });
  return context.started(words, start, () => {
    input.dispose();
    return output ? context.bridge.fromNative(output, x.dtype) : null;
  });
}

export function reduceScatter<T extends Movable>(context: Context<T>, x: T, op: ReduceOp): Pending<T> {
  const rows = rowsOfPart(x.shape, context.size, 'reduceScatter');
  const input = context.native(x, 'reduceScatter');
  requireReducible(input, op);
  const words = context.calls.agree({ ...described('reduceScatter', input), op });
  const output = newEmpty(input, [rows, ...input.shape.slice(1)]);
  const start = () => context.group.reduceScatter(input, output, op, { words });
  return context.moved(words, start, input, output, x.dtype);
}
