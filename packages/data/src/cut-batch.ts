import { slice, tidy, type TensorContainer } from '@tensorflow/tfjs-core';
import { cannotSplit, rowsDiffer } from './errors.js';
import { splitRows } from './split-rows.js';
import type { StepLayout } from './step-layout.js';
import { mapTensors, tensorsIn } from './structure.js';

/**
 * Splits the rows of a batch into one part for each rank. With `fills`, a rank that would get no
 * row gets a row of another rank.
 */
export function splitRowsOf(batchRows: number, size: number, fills: boolean): StepLayout {
  const parts = splitRows(batchRows, size);
  const starts = parts.map(({ start }) => start);
  const realRows = parts.map(({ count }) => count);
  if (!fills || batchRows === 0) return { starts, rows: realRows, realRows };
  return {
    starts: starts.map((start, rank) => (realRows[rank] === 0 ? rank % batchRows : start)),
    rows: realRows.map((count) => Math.max(count, 1)),
    realRows,
  };
}

/**
 * The size of dim 0, which all tensors of a batch must share.
 *
 * @param where The data that the batch comes from, for the error message.
 * @throws AccError `ACC_DATA_SPLIT` if the batch has no tensors or a scalar,
 * `ACC_DATA_ROWS_DIFFER`.
 */
export function commonRows(where: string, batch: unknown): number {
  const shapes = tensorsIn(batch).map(({ shape }) => shape);
  if (shapes.length === 0 || shapes.some((shape) => shape.length === 0)) {
    throw cannotSplit(
      `an item of the ${where} is not a batch of tensors with rows`,
      'Batch the data before you shard it, or leave splitBatches out.',
    );
  }
  const rows = shapes[0]![0]!;
  if (shapes.some((shape) => shape[0] !== rows)) throw rowsDiffer(where, shapes);
  return rows;
}

/**
 * Slices rows out of every tensor of a batch. The batch is not changed. The caller disposes the
 * result.
 */
export function sliceRows<T>(batch: T, start: number, count: number): T {
  return tidy(() => mapTensors(batch, (tensor) => slice(tensor, start, count)) as TensorContainer) as T;
}
