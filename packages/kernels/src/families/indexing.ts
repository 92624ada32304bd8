import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { outOfRange } from './index-checks.js';

const multiply = operator('aten::mul.Tensor');
const reshape = operator('aten::reshape');
const sum = operator('aten::sum.dim_IntList');

/**
 * The row numbers of `count` index tuples, int64 `[count]`. `strides` are those of the indexed
 * leading dims, in rows. Caller disposes.
 */
export function rowsOf(indices: NativeTensor, count: number, strides: readonly number[]): NativeTensor {
  using tuples = reshape(indices, [count, strides.length]);
  using factors = tensorFrom(BigInt64Array.from(strides, BigInt), 'int64', [strides.length]);
  using products = multiply(tuples, factors);
  return sum(products, [1], false);
}

/**
 * Runs `lookUp` with `indices`, which must be in `[0, size)`. The error for an index out of range
 * names it. A device other than the CPU gets clamped indices, and the next read of values throws the
 * error.
 *
 * @throws AccError `ACC_INDEX_OUT_OF_RANGE`.
 */
export function withIndicesChecked<T>(
  { indexChecks }: Pick<AccBackend, 'indexChecks'>,
  lookup: { readonly kernelName: string; readonly size: number },
  indices: NativeTensor,
  lookUp: (indices: NativeTensor) => T,
): T {
  if (indexChecks && lookup.size > 0) {
    using clamped = indexChecks.clamped(indices, lookup);
    return lookUp(clamped);
  }
  try {
    return lookUp(indices);
  } catch (error) {
    const values = Array.from(indices.read() as Int32Array | BigInt64Array, Number);
    const outside = values.find((value) => value < 0 || value >= lookup.size);
    throw outside === undefined ? error : outOfRange(lookup, outside, error);
  }
}
