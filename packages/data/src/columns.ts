import {
  concat,
  gather,
  slice,
  tensor1d,
  tidy,
  type Tensor,
  type TensorContainer,
} from '@tensorflow/tfjs-core';
import { notADataset, rowsDiffer } from './errors.js';
import { mapTensors, tensorsIn } from './structure.js';

/** Tensors whose rows along dim 0 belong together. See {@link columns}. */
export class Columns<T = unknown> {
  readonly tensors: T;
  /** The size of dim 0 of every tensor. */
  readonly length: number;

  constructor(tensors: T) {
    this.tensors = tensors;
    const all = tensorsIn(tensors);
    const shapes = all.map(({ shape }) => shape);
    if (all.length === 0 || shapes.some((shape) => shape.length === 0)) {
      throw notADataset(
        'columns must be tensors of rank 1 or more',
        'Give nested records or arrays of tensors.',
      );
    }
    if (shapes.some((shape) => shape[0] !== shapes[0]![0])) throw rowsDiffer('columns', shapes);
    this.length = shapes[0]![0]!;
  }

  /** The rows with these indices, in this order. The caller disposes the tensors. */
  rows(indices: Int32Array): unknown {
    return tidy(() => takeRows(this.tensors, indices) as TensorContainer);
  }
}

/**
 * Marks tensors as columns of one table, not as samples, for `new DataLoader(columns([xs, ys]),
 * …)`.
 *
 * @param tensors A tensor, or nested records and arrays of tensors, all with the same size of dim
 * 0. The caller owns them and must keep them until iteration ends.
 * @throws AccError `ACC_DATA_DATASET`, `ACC_DATA_ROWS_DIFFER`.
 */
export function columns<T>(tensors: T | Columns<T>): Columns<T> {
  return tensors instanceof Columns ? tensors : new Columns(tensors);
}

function takeRows(tensors: unknown, indices: Int32Array): unknown {
  const [first = 0] = indices;
  if (indices.every((row, i) => row === first + i)) {
    return mapTensors(tensors, (x) => slice(x, first, indices.length));
  }
  const index = tensor1d(indices, 'int32');
  return mapTensors(tensors, (x) => (x.dtype === 'string' ? takeStrings(x, indices) : gather(x, index)));
}

/** `tf.gather` does not support strings. */
function takeStrings(x: Tensor, indices: Int32Array): Tensor {
  return concat(
    Array.from(indices, (row) => slice(x, row, 1)),
    0,
  );
}
