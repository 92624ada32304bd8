import type { Granularity, StorageDtype } from '@acc/kernels';
import type { Tensor } from '@acc/native';

/** The shape of a matrix. */
export type MatrixShape = readonly [rows: number, columns: number];

/** The scale of the inputs of a product, and the number whose value is 0: float32 scalars. */
export interface ScaleAndZero extends Disposable {
  readonly scale: Tensor;
  readonly zero: Tensor;
}

/** The range of the inputs of a product, which was found before. */
export interface InputRange {
  /** The caller disposes the result. @throws AccError `ACC_CALIBRATION_DATA` before the range is loaded. */
  read(): ScaleAndZero;
}

/** Factors of the columns of a product's inputs. */
export interface InputScale {
  /** Float32 `[columns]`, borrowed. @throws AccError `ACC_CALIBRATION_DATA` before the factors are loaded. */
  read(): Tensor;
}

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
