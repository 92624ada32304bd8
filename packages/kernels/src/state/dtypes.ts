import type { DataType } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';

const ELEMENT_BYTES: Readonly<Record<NativeDtype, number>> = {
  float64: 8,
  float32: 4,
  float16: 2,
  bfloat16: 2,
  int64: 8,
  int32: 4,
  int16: 2,
  int8: 1,
  uint8: 1,
  bool: 1,
  complex64: 8,
};

/** The size of a tensor in bytes. */
export function sizeOf(dtype: NativeDtype, shape: readonly number[]): number {
  return shape.reduce((count, length) => count * length, ELEMENT_BYTES[dtype]);
}

/** The tfjs dtype of a tensor with elements of `dtype`. */
export function labelOf(dtype: NativeDtype): DataType {
  if (dtype === 'bool' || dtype === 'complex64') return dtype;
  return dtype.includes('float') ? 'float32' : 'int32';
}
