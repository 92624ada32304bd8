import { clone, scalar, Tensor } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';

/** The tensors in nested records and arrays, in order. */
export function tensorsIn(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  mapTensors(value, (tensor) => {
    found.push(tensor);
    return tensor;
  });
  return found;
}

/** The same nested records and arrays with every tensor replaced; other leaves stay the same objects. */
export function mapTensors<T>(value: T, replace: (tensor: Tensor) => Tensor): T {
  return mapNode(value, replace) as T;
}

function mapNode(value: unknown, replace: (tensor: Tensor) => Tensor): unknown {
  if (value instanceof Tensor) return replace(value);
  if (Array.isArray(value)) {
    // Long lists of numbers are common in samples: they are not copied.
    return value.every(isNumber) ? value : value.map((item) => mapNode(item, replace));
  }
  if (!isPlainRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapNode(item, replace)]));
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

/** The same structure with tensors that live on their own; the caller disposes them. No values are copied. */
export function cloneTensors<T>(value: T): T {
  return mapTensors(value, (tensor) => clone(tensor));
}

export function disposeTensors(value: unknown): void {
  for (const tensor of tensorsIn(value)) tensor.dispose();
}

/**
 * Holds a batch while its iterator is asked for the next one: a generator may dispose what it has yielded before.
 *
 * @returns Gives the batch, or a copy where it was disposed since. Is to be called once.
 */
export function holdBatch<T>(batch: T): () => T {
  const copy = cloneTensors(batch);
  return () => {
    const isThere = tensorsIn(batch).every(({ isDisposed }) => !isDisposed);
    disposeTensors(isThere ? copy : batch);
    return isThere ? batch : copy;
  };
}

/** Dim 0 of the first tensor of a batch that has one, as tfjs counts a batch's samples; else 1. */
export function rowsOf(batch: unknown): number {
  return tensorsIn(batch).find(({ shape }) => shape.length > 0)?.shape[0] ?? 1;
}

/** A moment by which tensors are told apart: older ones are somebody's, newer ones were made for the loader. */
export class TensorMark {
  readonly #id: number;

  constructor() {
    // Ids count upwards; tfjs gives out the next one only with a tensor.
    const probe = scalar(0);
    this.#id = probe.id;
    probe.dispose();
  }

  /** Whether the tensor was made since, and not for longer than its scope (`tf.keep`). */
  isNew(tensor: Tensor): boolean {
    return tensor.id > this.#id && !tensor.kept;
  }

  disposeNew(value: unknown): void {
    for (const tensor of tensorsIn(value)) if (this.isNew(tensor)) tensor.dispose();
  }
}
