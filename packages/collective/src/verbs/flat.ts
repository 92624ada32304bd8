import type { FlatOptions, Pending, ReduceOp } from '@acc/contract';
import { operator, type Tensor as Native } from '@acc/native';
import type { Words } from '../agreement.js';
import type { Context } from '../context.js';
import { travelling } from '../shards.js';
import { requireOneDtype, requireReducible, rowsOfShard, sizeOf, sum, type Movable } from '../tensors.js';

const newEmpty = operator('aten::new_empty');
const toDtype = operator('aten::to.dtype');

/** A list of tensors that is sent as if it were one flat tensor. */
interface FlatCall {
  readonly verb: 'reduceScatterFlat' | 'allGatherFlat';
  readonly options: FlatOptions;
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
  options: FlatOptions,
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

function startFlat<T extends Movable>(context: Context<T>, xs: readonly T[], call: FlatCall): Pending<T> {
  const { verb, options } = call;
  const { donate, wireDtype } = options;
  requireOneDtype(xs, verb);
  const { dtype } = xs[0]!;
  const elements = sum(xs.map(({ shape }) => sizeOf(shape)));
  const length = call.lengthOf(elements);
  const natives = xs.map((x) => travelling(context, x, verb, { wireDtype }));
  if (donate) for (const x of xs) x.dispose();
  const output = newEmpty(natives[0]!, [length]);
  const words = call.agree({ dtype: output.dtype, shape: [elements] });
  return context.started(
    words,
    () => call.start(natives, output, words),
    () => {
      for (const native of natives) native.dispose();
      if (!wireDtype) return context.bridge.fromNative(output, dtype);
      const wide = toDtype(output, 'float32');
      output.dispose();
      return context.bridge.fromNative(wide, dtype);
    },
  );
}
