import type { NativeDtype, NativeTensor, NativeValues, ReduceOp } from '@acc/contract';
import { arrayTypeOf, operator, operatorInPlace, tensorFrom, type Tensor } from '@acc/native';

const reshape = operator('aten::reshape');
const divide = operator('aten::div.Scalar');
const copyInto = operatorInPlace('aten::copy_');
/** Booleans are added as "or" and multiplied as "and". */
const COMBINE: Readonly<Record<ReduceOp, (a: Tensor, b: Tensor) => Tensor>> = {
  sum: operator('aten::add.Tensor'),
  mean: operator('aten::add.Tensor'),
  product: operator('aten::mul.Tensor'),
  max: operator('aten::maximum'),
  min: operator('aten::minimum'),
};

/** The numbers in JavaScript for each element. */
export const widthOf = (dtype: NativeDtype): number => (dtype === 'complex64' ? 2 : 1);

/** The elements of tensors of one dtype, one after the other, in memory that threads share. */
export function sharedElements(tensors: readonly NativeTensor[]): SharedArrayBuffer {
  const all = tensors.map((tensor) => tensor.read());
  const length = all.reduce((sum, { byteLength }) => sum + byteLength, 0);
  const bytes = new Uint8Array(new SharedArrayBuffer(length));
  let at = 0;
  for (const { buffer, byteOffset, byteLength } of all) {
    bytes.set(new Uint8Array(buffer, byteOffset, byteLength), at);
    at += byteLength;
  }
  return bytes.buffer;
}

/**
 * Numbers of shared memory as a tensor `[elements]`. The caller disposes it.
 *
 * @param start The position of the first element.
 * @param end The position behind the last. Default: all.
 */
export function tensorOf(bytes: SharedArrayBuffer, dtype: NativeDtype, start = 0, end?: number): Tensor {
  const width = widthOf(dtype);
  const shared = new (arrayTypeOf(dtype))(bytes as never);
  // The addon takes no shared memory, and slice copies.
  const values = shared.slice(start * width, end === undefined ? undefined : end * width) as NativeValues;
  const own = new (arrayTypeOf(dtype))(values as never) as NativeValues;
  return tensorFrom(own, dtype, [own.length / width]);
}

/** The reduction of the elements of all ranks, in their order. The caller disposes it. */
export function reduced(
  parts: readonly SharedArrayBuffer[],
  dtype: NativeDtype,
  op: ReduceOp,
  range: readonly [number, number] | [] = [],
): Tensor {
  let sum = tensorOf(parts[0]!, dtype, ...range);
  for (const part of parts.slice(1)) {
    using before = sum;
    using next = tensorOf(part, dtype, ...range);
    sum = COMBINE[op](before, next);
  }
  if (op !== 'mean') return sum;
  using total = sum;
  return divide(total, parts.length);
}

/** Writes the elements of `source`, which it disposes, to tensors, one after the other. */
export function fill(targets: readonly NativeTensor[], source: Tensor): void {
  using all = source;
  if (targets.length === 1) return fillOne(targets[0]!, all);
  let at = 0;
  for (const target of targets) {
    const length = target.shape.reduce((product, size) => product * size, 1);
    using part = slice(all, 0, at, at + length);
    fillOne(target, part);
    at += length;
  }
}

const slice = operator('aten::slice.Tensor');

function fillOne(target: NativeTensor, source: Tensor): void {
  using shaped = reshape(source, target.shape);
  copyInto(target as Tensor, shaped);
}
