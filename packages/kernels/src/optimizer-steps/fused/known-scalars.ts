import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { NativeTensor } from '@acc/contract';
import { operatorInPlace } from '@acc/native';
import type { TensorData } from '../../tensor-data.js';

const multiply = operatorInPlace('aten::mul_.Scalar');
const addTo = operatorInPlace('aten::add_.Scalar');

/**
 * Cached values of scalars, by data. Reading a value waits for the device. An optimizer's scalars
 * change only by an assignment of new data, or in this file.
 */
const known = new WeakMap<object, number>();

/**
 * The single element of `x`: the uploaded value, or else the value read from the device, once for
 * each data.
 */
export function scalarValue(x: Tensor): number {
  let value = known.get(x.dataId);
  if (value === undefined) {
    value = (x.dataId as Partial<TensorData>).uploaded ?? x.dataSync()[0]!;
    known.set(x.dataId, value);
  }
  return value;
}

/**
 * variable ← variable · factor, where `native` is the variable's memory. The cached value is
 * rounded as in tfjs's float32 arithmetic.
 */
export function multiplyScalar(variable: Variable, native: NativeTensor, factor: number): void {
  const value = Math.fround(scalarValue(variable) * Math.fround(factor));
  multiply(native, factor);
  known.set(variable.dataId, value);
}

/** variable ← variable + 1, where `native` is the variable's memory. */
export function incrementScalar(variable: Variable, native: NativeTensor): void {
  const value = Math.fround(scalarValue(variable) + 1);
  addTo(native, 1);
  known.set(variable.dataId, value);
}
