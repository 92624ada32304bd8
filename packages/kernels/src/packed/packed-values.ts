import type { Tensor as NativeTensor } from '@acc/native';

/**
 * Float32 values that lie in memory as something smaller: whole numbers with scales, or 16-bit floats.
 * A tensor with them is frozen: nothing writes into it. Operators get float32 values, which are freed
 * when the operator ends; products and lookups may take what lies in memory.
 */
export interface PackedValues {
  /** The native tensors in memory. The data of the tensor owns them. */
  readonly tensors: readonly NativeTensor[];
  /** Of the variable. */
  readonly shape: readonly number[];
  /** The values as float32, in {@link shape}. The caller disposes them. */
  unpack(): NativeTensor;
  /**
   * `x` times the matrix of the values: x·W, or x·Wᵀ. Undefined if the product of {@link unpack} is to
   * be taken. The caller disposes it.
   *
   * @param x `[rows, k]`, float32 or 16-bit. The product has its dtype.
   */
  product?(x: NativeTensor, transpose: boolean): NativeTensor | undefined;
  /**
   * The slices of some indices along the first dim, as float32 `[indices, ...]`. Undefined if they are
   * to be taken from {@link unpack}. The caller disposes them.
   */
  rows?(indices: NativeTensor): NativeTensor | undefined;
}
