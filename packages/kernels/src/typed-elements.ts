import { util, type BackendValues, type DataType } from '@tensorflow/tfjs-core';
import { tensorFrom } from '@acc/native';
import { NATIVE_DTYPE } from './acc-names.js';
import { TensorData } from './tensor-data.js';

type Elements = Parameters<typeof tensorFrom>[0];

/** Data with values that tfjs passes. */
export function dataFrom(values: BackendValues, shape: number[], dtype: DataType): TensorData {
  if (dtype === 'string') return new TensorData(dtype, undefined, values, undefined);
  const elements = toElements(values, shape, dtype);
  const data = new TensorData(dtype, tensorFrom(elements, NATIVE_DTYPE[dtype], shape), undefined, undefined);
  if (dtype === 'float32' && shape.length === 0) data.setUploaded(elements[0] as number);
  return data;
}

/** Converts elements to the typed array of `dtype`, in memory that no other thread writes. tfjs passes null for all zeros. */
function toElements(values: BackendValues | null, shape: number[], dtype: DataType): Elements {
  const elements = asElements(values, shape, dtype);
  // libtorch's copy is made through N-API, which does not take memory that threads share.
  return elements.buffer instanceof SharedArrayBuffer ? elements.slice() : elements;
}

function asElements(values: BackendValues | null, shape: number[], dtype: DataType): Elements {
  const size = util.sizeFromShape(shape);
  if (dtype === 'int32')
    return values instanceof Int32Array ? values : Int32Array.from(numbers(values, size));
  if (dtype === 'bool') return values instanceof Uint8Array ? values : Uint8Array.from(numbers(values, size));
  return values instanceof Float32Array ? values : Float32Array.from(numbers(values, size));
}

function numbers(values: BackendValues | null, size: number): ArrayLike<number> {
  return (values ?? new Uint8Array(size)) as ArrayLike<number>;
}
