import {
  AccError,
  type AllReduceOptions,
  type NativeDtype,
  type NativeTensor,
  type ReduceOp,
} from '@acc/contract';
import { operator, type Tensor as Native } from '@acc/native';
import { REDUCE_OPS } from './agreement.js';

const contiguous = operator('aten::contiguous');

/** What collectives must know of a tensor. */
export interface Movable {
  readonly dtype: string;
  readonly shape: readonly number[];
  dispose(): void;
}

/** The way between tensors of type `T` and native ones. A `TensorBridge` is one for tfjs tensors. */
export interface BridgeOf<T extends Movable> {
  /** A contiguous native tensor with the values of `x`, which may share its memory. The caller disposes it. */
  toNative(x: T): NativeTensor;
  /** The native tensor of `x` itself, of any strides, where there is one. `x` stays the owner. */
  borrow?(x: T): NativeTensor;
  /** See `TensorBridge.writable`. */
  writable?(xs: readonly T[]): T[];
  /** A tensor that takes over `native`. */
  fromNative(native: NativeTensor, dtype: T['dtype']): T;
}

/** For collectives over native tensors, of every element type. */
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
    help: 'Convert it first, as x.toFloat().',
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
    help: 'wireDtype is for float32.',
  });
}

/** Of tensors that travel together. @throws AccError `ACC_COLLECTIVE_SHAPE` unless there is a place for each result. */
export function requireCount(
  into: readonly unknown[],
  results: readonly unknown[],
  collective: string,
): void {
  if (into.length === results.length) return;
  throw new AccError(
    'ACC_COLLECTIVE_SHAPE',
    `${collective} gives ${results.length} tensors; \`into\` has ${into.length}.`,
    { help: 'Give a tensor for each result, in their order.' },
  );
}

/**
 * Whether a result fits into a tensor that is given for it.
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
    `The result of ${collective} is ${show({ dtype, shape })}; \`into\` is ${show(into)}.`,
    { help: 'Give a tensor of the shape and dtype of the result.' },
  );
}

/** @throws AccError `ACC_COLLECTIVE_RANK`. */
export function requireRank(rank: number, size: number): void {
  if (Number.isInteger(rank) && rank >= 0 && rank < size) return;
  throw new AccError('ACC_COLLECTIVE_RANK', `There is no rank ${rank}.`, {
    help: size === 1 ? 'There is one rank, 0.' : `Ranks are 0 to ${size - 1}.`,
  });
}

/** Rows of each part when dim 0 is cut into `parts` equal ones. @throws AccError `ACC_COLLECTIVE_SHAPE`. */
export function rowsOfPart(shape: readonly number[], parts: number, collective: string): number {
  const rows = shape[0];
  if (rows !== undefined && rows % parts === 0) return rows / parts;
  throw new AccError(
    'ACC_COLLECTIVE_SHAPE',
    `${collective} cuts dim 0 into ${parts} equal parts; a tensor of shape [${shape.join(',')}] came.`,
    { help: `Pad dim 0 to a multiple of ${parts}.` },
  );
}

export function sizeOf(shape: readonly number[]): number {
  return shape.reduce((product, size) => product * size, 1);
}

export function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, one) => total + one, 0);
}
