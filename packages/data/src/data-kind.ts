import { Tensor, Variable } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';
import { Columns } from './columns.js';
import { DataLoader } from './data-loader.js';
import { tensorsIn } from './structure.js';

/**
 * - loader: a DataLoader.
 * - dataset: an object with the `iterator()` method of tf.data.
 * - columns: an array of tensors, or a (nested) record of tensors, that all have the same size of
 *   dim 0.
 * - batches: an array of batches, each of them a (nested) record or array of tensors.
 */
export type DataKind = 'loader' | 'dataset' | 'columns' | 'batches';

/**
 * The kind of data that an object is. Undefined if it is not data. Variables are not data, because
 * they are trained.
 */
export function dataKind(object: unknown): DataKind | undefined {
  if (typeof object !== 'object' || object === null) return undefined;
  if (object instanceof DataLoader) return 'loader';
  if (object instanceof Columns) return 'columns';
  if ('iterator' in object && typeof object.iterator === 'function') return 'dataset';
  if (Array.isArray(object) && object.length > 0) {
    if (object.every(isData)) return haveOneLength(object) ? 'columns' : undefined;
    return object.every(isBatch) ? 'batches' : undefined;
  }
  return isBatch(object) && haveOneLength(tensorsIn(object)) ? 'columns' : undefined;
}

function isBatch(value: unknown): boolean {
  if (!Array.isArray(value) && !isPlainRecord(value)) return false;
  const items = Object.values(value);
  return items.length > 0 && items.every((item) => isData(item) || isBatch(item));
}

function isData(value: unknown): value is Tensor {
  return value instanceof Tensor && !(value instanceof Variable);
}

function haveOneLength(tensors: readonly Tensor[]): boolean {
  return tensors.every(({ shape }) => shape.length > 0 && shape[0] === tensors[0]!.shape[0]);
}
