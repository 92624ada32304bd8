import { backend_util, util, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { rowsOf, withIndicesChecked } from './indexing.js';

const castTo = operator('aten::_to_copy');
const copyInto = operatorInPlace('aten::index_copy_');
const expand = operator('aten::expand');
const reshape = operator('aten::reshape');

/** Writes the rows of the source to the given rows of the target. */
type Write = (target: NativeTensor, dim: number, rows: NativeTensor, source: NativeTensor) => void;

/**
 * Writes slices of `updates` (the same for all if it is a scalar) into a tensor of shape `shape`,
 * at the positions in the last dim of `indices`. A position that occurs twice gets the last of its
 * updates, unless `write` adds them up.
 *
 * @param makeTarget Makes the target `[rows, elements of a slice]`, which this function then owns.
 * @throws AccError `ACC_INDEX_OUT_OF_RANGE`.
 */
export function scatter(
  backend: AccBackend,
  kernelName: string,
  indices: TensorInfo,
  updates: TensorInfo,
  shape: number[],
  makeTarget: (targetShape: [number, number], like: NativeTensor) => NativeTensor,
  write: Write = copyInto,
): TensorInfo {
  const { numUpdates, sliceRank, sliceSize, strides, outputSize } = backend_util.calculateShapes(
    updates,
    indices,
    shape,
  );
  const rowCount = sliceSize === 0 ? util.sizeFromShape(shape.slice(0, sliceRank)) : outputSize / sliceSize;
  const source = backend.native(updates);
  using target = makeTarget([rowCount, sliceSize], source);
  if (outputSize > 0) {
    using rows = rowsOf(backend.native(indices), numUpdates, strides.slice(0, sliceRank));
    using slices = (updates.shape.length === 0 ? expand : reshape)(source, [numUpdates, sliceSize]);
    // A tfjs dtype may stand for native floats of two sizes.
    using cast = slices.dtype === target.dtype ? undefined : castTo(slices, target.dtype);
    const lookup = { kernelName, size: rowCount };
    withIndicesChecked(backend, lookup, rows, (checked) => write(target, 0, checked, cast ?? slices));
  }
  return backend.wrap(reshape(target, shape), updates.dtype);
}
