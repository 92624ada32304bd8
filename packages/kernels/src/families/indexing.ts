import { AccError } from '@acc/contract';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';

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
 * Runs `lookUp`, which reads `indices` that must be in `[0, size)`. If libtorch rejects one, the
 * error names it.
 *
 * @throws AccError `ACC_INDEX_OUT_OF_RANGE`.
 */
export function withIndicesChecked<T>(
  kernelName: string,
  indices: NativeTensor,
  size: number,
  lookUp: () => T,
): T {
  try {
    return lookUp();
  } catch (error) {
    const values = Array.from(indices.read() as Int32Array | BigInt64Array, Number);
    const outside = values.find((value) => value < 0 || value >= size);
    if (outside === undefined) throw error;
    throw new AccError(
      'ACC_INDEX_OUT_OF_RANGE',
      `${kernelName}: the index value ${outside} is not in [0, ${size - 1}].`,
      {
        help: `Indices choose from ${size} elements. Check the ids, and the size of the table or embedding.`,
        cause: error,
        details: { index: outside, size },
      },
    );
  }
}
