import type { Granularity, StorageDtype } from '@acc/kernels';
import type { Tensor } from '@acc/native';

/** The shape of a matrix. */
export type MatrixShape = readonly [rows: number, columns: number];

/**
 * A float32 matrix `[rows, columns]` in another storage format. A row is an output channel: the product
 * of the matrix and a vector has one number for each.
 */
export interface PackedMatrix {
  readonly dtype: StorageDtype;
  readonly granularity: Granularity;
  /** The tensors in memory. The owner of the matrix disposes them. */
  readonly tensors: readonly Tensor[];
  /** The values as float32 `[rows, columns]`. The caller disposes them. */
  values(): Tensor;
  /** See `PackedRecords`. The caller disposes them. */
  records(): Tensor;
  /**
   * x·Mᵀ for `x` `[n, columns]`, in the dtype of `x`. Undefined if the float32 values are to be taken.
   * The caller disposes it.
   */
  product?(x: Tensor): Tensor | undefined;
  /** The float32 values of some rows, `[indices, columns]`. The caller disposes them. */
  rows?(indices: Tensor): Tensor;
}
