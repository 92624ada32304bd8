import { slice, tidy, type TensorContainer } from '@tensorflow/tfjs-core';
import { cannotSplit, rowsDiffer } from './errors.js';
import { splitRows } from './split-rows.js';
import type { StepLayout } from './step-layout.js';
import { mapTensors, tensorsIn } from './structure.js';

/** Parts of a batch's rows, one for each rank. With `fills`, a rank that none is left for takes another's. */
export function cutRowsOf(batchRows: number, size: number, fills: boolean): StepLayout {
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
 * Dim 0 of all tensors of a batch.
 *
 * @param where What the batch is of, for the message.
 * @throws AccError `ACC_DATA_SPLIT` for what isn't made of tensors with rows, `ACC_DATA_ROWS_DIFFER`.
 */
export function commonRows(where: string, batch: unknown): number {
  const shapes = tensorsIn(batch).map(({ shape }) => shape);
  if (shapes.length === 0 || shapes.some((shape) => shape.length === 0)) {
    throw cannotSplit(
      `an item of the ${where} is no batch of tensors with rows`,
      'Batch the data before it is sharded, or leave splitBatches out.',
    );
  }
  const rows = shapes[0]![0]!;
  if (shapes.some((shape) => shape[0] !== rows)) throw rowsDiffer(where, shapes);
  return rows;
}

/** Rows of every tensor of a batch, which stays as it is; the caller disposes the result. */
export function sliceRows<T>(batch: T, start: number, count: number): T {
  return tidy(() => mapTensors(batch, (tensor) => slice(tensor, start, count)) as TensorContainer) as T;
}
