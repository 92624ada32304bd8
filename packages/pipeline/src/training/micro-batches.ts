import { slice, Tensor } from '@tensorflow/tfjs-core';
import { AccError, isPlainRecord } from '@acc/contract';
import { mapNested, type Nested } from '@acc/tape';
import type { LayerGraph } from '@acc/tfjs-internals';

/** The inputs of a model: one tensor, a list, or a record by the names of its inputs. */
export type ModelInputs = Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>;

/**
 * The inputs in the order of the model.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` if they are not those of the model.
 */
export function inputList({ inputs }: LayerGraph, xs: ModelInputs): Tensor[] {
  const names = inputs.map(({ sourceLayer }) => sourceLayer.name);
  const given: readonly unknown[] =
    xs instanceof Tensor
      ? [xs]
      : Array.isArray(xs)
        ? xs
        : isPlainRecord(xs)
          ? names.map((name) => xs[name])
          : [];
  if (given.length === names.length && given.every((x) => x instanceof Tensor)) return given as Tensor[];
  throw new AccError(
    'ACC_INVALID_ARGUMENT',
    `The model has ${names.length} inputs: ${names.join(', ')}. xs is not one tensor for each.`,
    { help: 'Pass a tensor, a list of tensors, or a record by these names.' },
  );
}

/**
 * The number of rows of each micro-batch.
 *
 * @throws AccError `ACC_PIPELINE_BATCH` if tensors have different numbers of rows, or if the rows
 * cannot be divided.
 */
export function rowsOf(tensors: readonly Tensor[], microBatches: number): number {
  const rows = tensors.map(({ shape }) => shape[0]);
  const [first] = rows;
  if (first === undefined || rows.some((each) => each !== first)) {
    throw new AccError(
      'ACC_PIPELINE_BATCH',
      `xs and ys need the same number of rows, but have ${rows.map((each) => each ?? 'none').join(', ')}.`,
      { help: 'Row i of each tensor is sample i.' },
    );
  }
  requireDivisible(first, microBatches);
  return first / microBatches;
}

/** @throws AccError `ACC_PIPELINE_BATCH` if `rows` cannot be divided into so many micro-batches. */
export function requireDivisible(rows: number, microBatches: number): void {
  if (rows > 0 && rows % microBatches === 0) return;
  throw new AccError(
    'ACC_PIPELINE_BATCH',
    `A batch of ${rows} rows cannot be divided into ${microBatches} equal micro-batches.`,
    {
      help: `Use a batch of a multiple of ${microBatches} rows, or another number of microBatches.`,
      details: { rows, microBatches },
    },
  );
}

/** The rows of one micro-batch. */
export function partOf<T extends Nested>(given: T, microBatch: number, rows: number): T {
  return mapNested(given, (tensor) => slice(tensor, microBatch * rows, rows));
}
