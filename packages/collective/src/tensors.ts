import {
  AccError,
  showValue,
  type AllReduceOptions,
  type NativeDtype,
  type NativeTensor,
  type ReduceOp,
} from '@acc/contract';
import { operator, type Tensor as Native } from '@acc/native';
import { REDUCE_OPS } from './agreement.js';

const contiguous = operator('aten::contiguous');

/** The properties of a tensor that collectives need. */
export interface Movable {
  readonly dtype: string;
  readonly shape: readonly number[];
  dispose(): void;
}

/**
 * Converts between tensors of type `T` and native tensors. A `TensorBridge` does so for tfjs
 * tensors.
 */
export interface BridgeOf<T extends Movable> {
  /**
   * A native tensor with the values of `x`. libtorch's tensors are contiguous and may share memory
   * with `x`. The caller disposes it.
   */
  toNative(x: T): NativeTensor;
  /** libtorch's tensor behind `x`, of any strides, for types that have one. `x` remains the owner. */
  borrow?(x: T): NativeTensor;
  /** See `TensorBridge.writable`. */
  writable?(xs: readonly T[]): T[];
  /** A tensor of dtype `dtype` that takes ownership of `native`. */
  fromNative(native: NativeTensor, dtype: T['dtype']): T;
}

/** The bridge for collectives over native tensors, of every element type. */
export const nativeBridge: BridgeOf<NativeTensor> = {
  toNative: (x) => contiguous(x as Native),
  borrow: (x) => x,
  fromNative: (native) => native,
};

const FLOATS: readonly NativeDtype[] = ['float32', 'float64', 'bfloat16', 'float16'];
const REDUCED: readonly NativeDtype[] = [...FLOATS, 'int32', 'int64', 'bool'];

/** @throws AccError `ACC_INVALID_ARGUMENT`, `ACC_COLLECTIVE_DTYPE`. */
export function requireReducible({ dtype }: { readonly dtype: string }, op: ReduceOp): void {
  if (!REDUCE_OPS.includes(op)) {
    throw new AccError('ACC_INVALID_ARGUMENT', `There is no reduction '${String(op)}'.`, {
      help: `Use one of: ${REDUCE_OPS.join(', ')}.`,
    });
  }
  if ((op === 'mean' ? FLOATS : REDUCED).includes(dtype as NativeDtype)) return;
  throw new AccError('ACC_COLLECTIVE_DTYPE', `A tensor of dtype ${dtype} cannot be reduced by '${op}'.`, {
    help: 'Convert it first, for example with x.toFloat().',
  });
}

/** @throws AccError `ACC_COLLECTIVE_DTYPE`. */
export function requireNumeric({ dtype }: Movable, collective: string): void {
  if (dtype !== 'string') return;
  throw new AccError('ACC_COLLECTIVE_DTYPE', `${collective} cannot move a tensor of strings.`, {
    help: 'Use gatherObject or broadcastObject with an array of strings.',
  });
}

/** @throws AccError `ACC_COLLECTIVE_DTYPE`. */
export function requireNarrowable(
  { dtype }: Movable,
  wireDtype: NonNullable<AllReduceOptions['wireDtype']>,
): void {
  if (dtype === 'float32') return;
  throw new AccError('ACC_COLLECTIVE_DTYPE', `A tensor of dtype ${dtype} cannot travel as ${wireDtype}.`, {
    help: 'Use wireDtype with float32 tensors only.',
  });
}

/** @throws AccError `ACC_COLLECTIVE_SHAPE`, `ACC_COLLECTIVE_DTYPE`. */
export function requireOneDtype(xs: readonly Movable[], collective: string): void {
  if (xs.length === 0) {
    throw new AccError('ACC_COLLECTIVE_SHAPE', `${collective} needs at least one tensor.`, {
      help: 'Leave out the call on every rank if there is nothing to send.',
    });
  }
  const other = xs.find(({ dtype }) => dtype !== xs[0]!.dtype);
  if (!other) return;
  throw new AccError(
    'ACC_COLLECTIVE_DTYPE',
    `${collective} takes tensors of one dtype, but got ${xs[0]!.dtype} and ${other.dtype}.`,
    { help: 'Make one call for each dtype.' },
  );
}

/** Checks that `into` has one tensor for each result. @throws AccError `ACC_COLLECTIVE_SHAPE`. */
export function requireCount(
  into: readonly unknown[],
  results: readonly unknown[],
  collective: string,
): void {
  if (into.length === results.length) return;
  throw new AccError(
    'ACC_COLLECTIVE_SHAPE',
    `${collective} returns ${results.length} tensors, but \`into\` has ${into.length}.`,
    { help: 'Give one tensor for each result, in the same order.' },
  );
}

/**
 * Checks that `into` has the shape and dtype of a result.
 *
 * @throws AccError `ACC_COLLECTIVE_SHAPE`, `ACC_COLLECTIVE_DTYPE`.
 */
export function requirePlace(
  into: Movable,
  { dtype, shape }: Pick<Movable, 'dtype' | 'shape'>,
  collective: string,
): void {
  const show = (one: Pick<Movable, 'dtype' | 'shape'>) => `${one.dtype}[${one.shape.join(',')}]`;
  const isSameShape = into.shape.length === shape.length && into.shape.every((n, i) => n === shape[i]);
  if (isSameShape && into.dtype === dtype) return;
  throw new AccError(
    isSameShape ? 'ACC_COLLECTIVE_DTYPE' : 'ACC_COLLECTIVE_SHAPE',
    `The result of ${collective} is ${show({ dtype, shape })}, but \`into\` is ${show(into)}.`,
    { help: 'Give a tensor with the shape and dtype of the result.' },
  );
}

/** @throws AccError `ACC_COLLECTIVE_RANK`. */
export function requireRank(rank: number, size: number): void {
  if (Number.isInteger(rank) && rank >= 0 && rank < size) return;
  const problem = Number.isInteger(rank)
    ? `There is no rank ${rank}`
    : `A rank is a whole number, not ${showValue(rank)}`;
  throw new AccError('ACC_COLLECTIVE_RANK', `${problem}.`, {
    help: size === 1 ? 'The only rank is 0.' : `Ranks are 0 to ${size - 1}.`,
  });
}

/**
 * The number of rows of each shard if dim 0 is split into `size` equal shards. @throws AccError
 * `ACC_COLLECTIVE_SHAPE`.
 */
export function rowsOfShard(shape: readonly number[], size: number, collective: string): number {
  const rows = shape[0];
  if (rows !== undefined && rows % size === 0) return rows / size;
  throw new AccError(
    'ACC_COLLECTIVE_SHAPE',
    `${collective} splits dim 0 into ${size} equal shards. It got a tensor of shape [${shape.join(',')}].`,
    { help: `Pad dim 0 to a multiple of ${size}.` },
  );
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
