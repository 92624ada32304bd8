import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';

const reshape = operator('aten::reshape');
const clampMax = operator('aten::clamp_max');
const to = operator('aten::to.dtype');
const newZeros = operator('aten::new_zeros');
const onesLike = operator('aten::ones_like');
const narrow = operator('aten::narrow');
const isBelow = operator('aten::lt.Scalar');
const any = operator('aten::any');
const addAt = operatorInPlace('aten::scatter_add_');
const setAt = operatorInPlace('aten::scatter_.value');

export interface BincountOptions {
  readonly size: number;
  /** Whether to count each row of a matrix separately. */
  readonly perRow?: boolean;
  /** Whether to record that a value occurs, instead of how often. */
  readonly binaryOutput?: boolean;
}

/**
 * Counts how often, or with what total weight, each of 0 … size - 1 occurs. Values from `size` on
 * are ignored.
 *
 * @param x Integers, `[rows, columns]` with `perRow`.
 * @param weights Has the shape of `x`, or is empty: each occurrence then counts 1. The result has
 * its dtype.
 * @returns `[size]`, or `[rows, size]` with `perRow`. Caller owns it.
 * @throws AccError `ACC_INVALID_ARGUMENT` if a value is negative.
 */
export function countBins(
  backend: AccBackend,
  x: TensorInfo,
  weights: TensorInfo,
  { size, perRow = false, binaryOutput = false }: BincountOptions,
): TensorInfo {
  const [rows, columns] = perRow ? (x.shape as [number, number]) : [1, util.sizeFromShape(x.shape)];
  using values = reshape(backend.native(x), [rows, columns]);
  refuseNegative(values);
  // One additional bin counts the values that are too large.
  using capped = clampMax(values, size);
  using bins = to(capped, 'int64');
  using counts = newZeros(backend.native(weights), [rows, size + 1]);
  if (binaryOutput) setAt(counts, 1, bins, 1);
  else addWeights(counts, bins, backend.native(weights));
  using kept = narrow(counts, 1, 0, size);
  return backend.wrap(reshape(kept, perRow ? [rows, size] : [size]), weights.dtype);
}

function addWeights(counts: NativeTensor, bins: NativeTensor, weights: NativeTensor): void {
  using each = weights.shape.includes(0) ? onesLike(bins, counts.dtype) : reshape(weights, bins.shape);
  addAt(counts, 1, bins, each);
}

/** Throws for a negative index, which would end the process on an accelerator. */
function refuseNegative(values: NativeTensor): void {
  using below = isBelow(values, 0);
  using found = any(below);
  if (!found.read()[0]) return;
  throw new AccError('ACC_INVALID_ARGUMENT', 'bincount: input x must be non-negative.', {
    help: 'Shift the values, or mask those that are to be left out.',
  });
}
