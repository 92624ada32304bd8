import type { Tensor } from '@tensorflow/tfjs-core';
import { isRecord as hasNames } from '@acc/contract';
import { invalidValue } from '../errors.js';

export function isTensor(value: unknown): value is Tensor {
  return typeof value === 'object' && value !== null && 'dataSync' in value && 'shape' in value;
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return hasNames(value) && !isTensor(value);
}

/**
 * @param example An example of a correct call.
 * @throws AccError `ACC_INVALID_ARGUMENT` if the value is not a record.
 */
export function requireRecord(where: string, value: unknown, example: string): void {
  if (!isRecord(value)) throw invalidValue(where, `${show(value)} is not a record`, `Write ${example}.`);
}

/**
 * Reads the values of a tensor, which waits for the device.
 *
 * @throws AccError `ACC_INVALID_ARGUMENT` with the key if the tensor is disposed.
 */
export function valuesOf(where: string, key: string, tensor: Tensor): ArrayLike<number> {
  if (!tensor.isDisposed) return tensor.dataSync() as ArrayLike<number>;
  const help = 'Log it before it is disposed. tf.tidy disposes the tensors created in it at its end.';
  throw invalidValue(where, `'${key}' is a tensor that is disposed`, help);
}

export function show(value: unknown): string {
  if (isTensor(value)) return `a tensor of ${value.dtype} [${value.shape.join(', ')}]`;
  if (typeof value === 'string') return `the string '${value.slice(0, 40)}'`;
  if (typeof value === 'function') return 'a function';
  if (value === null || typeof value !== 'object') return String(value);
  return Array.isArray(value) ? 'an array' : `an object (${value.constructor?.name ?? 'no class'})`;
}
