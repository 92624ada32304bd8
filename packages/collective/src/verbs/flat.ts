import type { FlatOptions, Pending, ReduceOp, ShardVerbOptions } from '@acc/contract';
import type { Tensor as Native } from '@acc/native';
import type { Words } from '../agreement.js';
import { orFreed, type Context } from '../context.js';
import { arrival, requireFits, travelling } from '../shards.js';
import { requireOneDtype, requireReducible, rowsOfShard, sizeOf, sum, type Movable } from '../tensors.js';

/** A list of tensors that is sent as if it were one flat tensor. */
interface FlatCall<T> {
  readonly verb: 'reduceScatterFlat' | 'allGatherFlat';
  readonly options: ShardVerbOptions<T>;
  /** The number of elements of the result, from that of the list. */
  lengthOf(elements: number): number;
  agree(sent: { readonly dtype: Native['dtype']; readonly shape: readonly number[] }): Words;
  start(natives: readonly Native[], output: Native, words: Words): Pending<void>;
}

export function reduceScatterFlat<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  op: ReduceOp,
  options: FlatOptions,
): Pending<T> {
  for (const x of xs) requireReducible(x, op);
  const { group, calls, size } = context;
  return startFlat(context, xs, {
    verb: 'reduceScatterFlat',
    options,
    lengthOf: (elements) => rowsOfShard([elements], size, 'reduceScatterFlat'),
    agree: (sent) => calls.agree({ collective: 'reduceScatter', ...sent, op }, options.agreed),
    start: (natives, output, words) => group.reduceScatterMany(natives, output, op, { words }),
  });
}

export function allGatherFlat<T extends Movable>(
  context: Context<T>,
  xs: readonly T[],
  options: ShardVerbOptions<T>,
): Pending<T> {
  const { group, calls, size } = context;
  return startFlat(context, xs, {
    verb: 'allGatherFlat',
    options,
    lengthOf: (elements) => elements * size,
    agree: (sent) => calls.agree({ collective: 'allGather', ...sent }, options.agreed),
    start: (natives, output, words) => group.allGatherMany(natives, output, { words }),
  });
}

function startFlat<T extends Movable>(context: Context<T>, xs: readonly T[], call: FlatCall<T>): Pending<T> {
  const { verb, options } = call;
  const { donate, wireDtype, into } = options;
  requireOneDtype(xs, verb);
  const { dtype } = xs[0]!;
  const elements = sum(xs.map(({ shape }) => sizeOf(shape)));
  const length = call.lengthOf(elements);
  requireFits(xs[0]!, [length], into, verb);
  const natives = xs.map((x) => travelling(context, x, verb, { wireDtype }));
  if (donate) for (const x of xs) x.dispose();
  const to = arrival(context, natives[0]!, [length], options);
  const holds = [...natives, ...to.holds];
  const words = orFreed(holds, () => call.agree({ dtype: to.output.dtype, shape: [elements] }));
  const start = () => call.start(natives, to.output, words);
  const finish = () => {
    for (const native of natives) native.dispose();
    return context.bridge.fromNative(to.finish(), dtype);
  };
  return context.started(words, start, finish, holds);
}
