import { util, type DataType } from '@tensorflow/tfjs-core';

export type Elements = Float32Array | Int32Array | Uint8Array;

/** Dtypes whose values can leave memory. */
export type OffloadableDtype = 'float32' | 'int32' | 'bool';

export function isOffloadable(dtype: DataType): dtype is OffloadableDtype {
  return dtype === 'float32' || dtype === 'int32' || dtype === 'bool';
}

export const bytesPerElement = (dtype: DataType): number => util.bytesPerElement(dtype);

export function bytesOf({ buffer, byteOffset, byteLength }: Elements): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength);
}
