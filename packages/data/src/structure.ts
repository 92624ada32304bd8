import { clone, scalar, Tensor } from '@tensorflow/tfjs-core';
import { isPlainRecord } from '@acc/contract';
import { isShaped } from '@acc/formats';

/** The tensors in nested records and arrays, in order. */
export function tensorsIn(value: unknown): Tensor[] {
  const found: Tensor[] = [];
  findTensors(value, found);
  return found;
}

/** Copies nothing: every sample of every batch passes through it. */
function findTensors(value: unknown, found: Tensor[]): void {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value) || isShaped(value)) return;
  if (value instanceof Tensor) {
    found.push(value);
  } else if (Array.isArray(value)) {
    // Long lists of numbers are common in samples.
    for (const item of value) if (typeof item === 'object') findTensors(item, found);
  } else if (isPlainRecord(value)) {
    for (const key in value) findTensors(value[key], found);
  }
}

/** Copies nested records and arrays and replaces every tensor. Other leaves stay the same objects. */
export function mapTensors<T>(value: T, replace: (tensor: Tensor) => Tensor): T {
  return mapNode(value, replace) as T;
}

function mapNode(value: unknown, replace: (tensor: Tensor) => Tensor): unknown {
  if (value instanceof Tensor) return replace(value);
  if (Array.isArray(value)) {
    // Long lists of numbers are common in samples, so they are not copied.
    return value.every(isNumber) ? value : value.map((item) => mapNode(item, replace));
  }
  if (isShaped(value) || !isPlainRecord(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, mapNode(item, replace)]));
}

function isNumber(value: unknown): boolean {
  return typeof value === 'number';
}

/** Clones every tensor of a structure. The caller disposes the clones. No values are copied. */
export function cloneTensors<T>(value: T): T {
  return mapTensors(value, (tensor) => clone(tensor));
}

export function disposeTensors(value: unknown): void {
  for (const tensor of tensorsIn(value)) tensor.dispose();
}

/**
 * Keeps a batch usable while its iterator is asked for the next one. A generator may dispose the
 * batch that it yielded before.
 *
 * @returns A function that returns the batch, or a copy if the batch was disposed. Call it once.
 */
export function holdBatch<T>(batch: T): () => T {
  const copy = cloneTensors(batch);
  return () => {
    const isThere = tensorsIn(batch).every(({ isDisposed }) => !isDisposed);
    disposeTensors(isThere ? copy : batch);
    return isThere ? batch : copy;
  };
}

/**
 * The size of dim 0 of the first tensor that has one, as tfjs counts the samples of a batch. 1 if
 * no tensor has dims.
 */
export function rowsOf(batch: unknown): number {
  return tensorsIn(batch).find(({ shape }) => shape.length > 0)?.shape[0] ?? 1;
}

/**
 * A point in time that separates tensors: older ones belong to the caller, newer ones were created
 * for the loader.
 */
export class TensorMark {
  readonly #id: number;

  constructor() {
    // Tensor ids increase. tfjs assigns an id only when it creates a tensor.
    const probe = scalar(0);
    this.#id = probe.id;
    probe.dispose();
  }

  /** Whether the tensor was created after this mark and is not kept by `tf.keep`. */
  isNew(tensor: Tensor): boolean {
    return tensor.id > this.#id && !tensor.kept;
  }

  disposeNew(value: unknown): void {
    for (const tensor of tensorsIn(value)) if (this.isNew(tensor)) tensor.dispose();
  }
}
