import { ScatterNd, type ScatterNdAttrs, type ScatterNdInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { isShort, toDtype } from '../families/conversion.js';
import { scatter } from '../families/scatter.js';
import { kernel } from '../kernel.js';

const addInto = operatorInPlace('aten::index_add_');
const copyInto = operatorInPlace('aten::copy_');
const zeros = operator('aten::zeros');

/** Adds 16-bit elements in float32 and rounds once. */
function addRows(target: NativeTensor, dim: number, rows: NativeTensor, source: NativeTensor): void {
  if (!isShort(target)) return addInto(target, dim, rows, source);
  using sums = toDtype(target, 'float32');
  using added = toDtype(source, 'float32');
  addInto(sums, dim, rows, added);
  copyInto(target, sums);
}

/** Updates at the same position add up. */
export const scatterNd = kernel<ScatterNdInputs, ScatterNdAttrs>(
  ScatterNd,
  ({ inputs: { indices, updates }, attrs: { shape }, backend }) =>
    scatter(backend, ScatterNd, indices, updates, shape, (size, like) => zeros(size, like.dtype), addRows),
);
