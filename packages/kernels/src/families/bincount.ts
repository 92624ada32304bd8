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
  /** Count each row of a matrix by itself. */
  readonly perRow?: boolean;
  /** Whether a value occurs, not how often. */
  readonly binaryOutput?: boolean;
}

/**
 * How often, or with what total weight, each of 0 … size - 1 occurs; values from `size` on count nowhere.
 *
 * @param x Integers, `[rows, columns]` with `perRow`.
 * @param weights Of the shape of `x`, or empty: then each occurrence counts 1. The result has their dtype.
 * @returns `[size]`, or `[rows, size]` with `perRow`. The caller's.
 * @throws AccError `ACC_INVALID_ARGUMENT` when a value is negative.
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
  // One bin more takes what is too large.
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

/** On an accelerator a negative index would end the process. */
function refuseNegative(values: NativeTensor): void {
  using below = isBelow(values, 0);
  using found = any(below);
  if (!found.read()[0]) return;
  throw new AccError('ACC_INVALID_ARGUMENT', 'bincount: input x must be non-negative.', {
    help: 'Shift the values, or mask those that are to be left out.',
  });
}
