import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NativeTensor } from '@acc/contract';
import { operatorInPlace } from '@acc/native';
import type { TensorData } from '../../tensor-data.js';

const multiply = operatorInPlace('aten::mul_.Scalar');
const addTo = operatorInPlace('aten::add_.Scalar');

/**
 * Values of scalars that were read, by data: reading waits for the device, and an optimizer's scalars change only by
 * new data, or here.
 */
const known = new WeakMap<object, number>();

/** The one element of `x`: as it was uploaded, or else read, once for each data. */
export function scalarValue(x: Tensor): number {
  let value = known.get(x.dataId);
  if (value === undefined) {
    value = (x.dataId as Partial<TensorData>).uploaded ?? x.dataSync()[0]!;
    known.set(x.dataId, value);
  }
  return value;
}

/** variable ← variable · factor, where `native` is its own memory; rounded as tfjs's float32 arithmetic does. */
export function multiplyScalar(variable: Variable, native: NativeTensor, factor: number): void {
  const value = Math.fround(scalarValue(variable) * Math.fround(factor));
  multiply(native, factor);
  known.set(variable.dataId, value);
}

/** variable ← variable + 1, where `native` is its own memory. */
export function incrementScalar(variable: Variable, native: NativeTensor): void {
  const value = Math.fround(scalarValue(variable) + 1);
  addTo(native, 1);
  known.set(variable.dataId, value);
}
