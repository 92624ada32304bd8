import { Tensor } from '@tensorflow/tfjs-core';
import { requireAcc } from '@acc/kernels';
import type { LayerGraph, ModelInternals } from '@acc/tfjs-internals';
import { allFinite } from '../formats/finite.js';
import { badBatch, endless, noBatches } from './errors.js';

/** The inputs of a model for some rows: one tensor, one for each input, or a record by the inputs' names. */
export type CalibrationInputs = Tensor | readonly Tensor[] | Readonly<Record<string, Tensor>>;

/** A batch. Of one with targets, as `fitDataset` takes, the inputs are used. */
export type CalibrationBatch = CalibrationInputs | { readonly xs: CalibrationInputs; readonly ys?: unknown };

/**
 * Inputs like those that the model will get. A tensor is one batch. Tensors of a list stay the caller's.
 * Batches that an iterator makes, as those of a `DataLoader` and of tf.data do, are disposed.
 */
export type CalibrationData =
  | Tensor
  | Iterable<CalibrationBatch>
  | AsyncIterable<CalibrationBatch>
  /** A tf.data.Dataset. */
  | { iterator(): Promise<{ next(): Promise<IteratorResult<unknown>> }> };

/** Batches in memory, each with one tensor for each input of the model. */
export interface Batches extends Disposable {
  readonly list: readonly (readonly Tensor[])[];
}

/**
 * Reads all batches, and checks them.
 *
 * @throws AccError `ACC_CALIBRATION_DATA` without a batch, for a dataset without an end, for a batch that the
 * model does not take, and for NaN and infinities.
 */
export async function batchesOf(model: ModelInternals, data: CalibrationData): Promise<Batches> {
  if (isEndless(data)) throw endless();
  const isOwn = !(data instanceof Tensor) && !Array.isArray(data);
  const list: Tensor[][] = [];
  const own: Tensor[] = [];
  const dispose = () => {
    for (const tensor of own.splice(0)) tensor.dispose();
  };
  try {
    for await (const batch of iterableOf(data)) {
      if (isOwn) own.push(...tensorsIn(batch));
      const tensors = tensorsOf(model, batch, list.length);
      requireFit(model, tensors, list.length);
      list.push(tensors);
    }
    if (list.length === 0) throw noBatches();
  } catch (error) {
    dispose();
    throw error;
  }
  return { list, [Symbol.dispose]: dispose };
}

/** Whether it is a tf.data.Dataset that repeats without end. */
const isEndless = (data: unknown): boolean => isRecord(data) && data['size'] === Infinity;

function iterableOf(data: CalibrationData): AsyncIterable<unknown> | Iterable<unknown> {
  if (data instanceof Tensor) return [data];
  if (typeof data === 'object' && data !== null) {
    if (Symbol.asyncIterator in data || Symbol.iterator in data) return data;
    if ('iterator' in data && typeof data.iterator === 'function') return rowsOf(data);
  }
  throw noBatches();
}

async function* rowsOf(data: Extract<CalibrationData, { iterator(): unknown }>): AsyncIterable<unknown> {
  const iterator = await data.iterator();
  for (;;) {
    const { value, done } = await iterator.next();
    if (done) return;
    yield value;
  }
}

const inputsOf = (model: ModelInternals) => (model as ModelInternals & LayerGraph).inputs;

function tensorsOf(model: ModelInternals, batch: unknown, index: number): Tensor[] {
  const given = isRecord(batch) && 'xs' in batch ? batch['xs'] : batch;
  if (given instanceof Tensor) return [given];
  const names = inputsOf(model).map(({ name }) => name);
  const list: unknown[] = Array.isArray(given)
    ? given
    : isRecord(given)
      ? names.map((name) => given[name])
      : [given];
  const wrong = list.findIndex((each) => !(each instanceof Tensor));
  if (wrong >= 0) throw badBatch(index, `has no tensor for the input '${names[wrong] ?? wrong}'`);
  return list as Tensor[];
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) && !(value instanceof Tensor);

function tensorsIn(value: unknown): Tensor[] {
  if (value instanceof Tensor) return [value];
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(tensorsIn) : [];
}

function requireFit(model: ModelInternals, tensors: readonly Tensor[], index: number): void {
  const inputs = inputsOf(model);
  if (tensors.length !== inputs.length) {
    throw badBatch(index, `has ${tensors.length} tensors, and the model has ${inputs.length} inputs`);
  }
  for (const [i, tensor] of tensors.entries()) {
    const { name, shape } = inputs[i]!;
    const fits =
      tensor.rank === shape.length && shape.every((size, dim) => size === null || size === tensor.shape[dim]);
    if (!fits || tensor.size === 0) {
      const expected = shape.map((size) => size ?? 'any').join();
      throw badBatch(
        index,
        `has the shape [${tensor.shape.join()}] for '${name}', which takes [${expected}]`,
      );
    }
    if (tensor.dtype === 'float32' && !allFinite(requireAcc().native(tensor))) {
      throw badBatch(index, `has values for '${name}' that are NaN or infinite`);
    }
  }
}
