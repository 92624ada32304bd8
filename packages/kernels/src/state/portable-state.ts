import { cast, complex, tensor, tidy, type DataType, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type NativeDtype, type NativeValues, type StateLayer } from '@acc/contract';
import { arrayTypeOf } from '@acc/native';
import { NATIVE_DTYPE } from '../acc-names.js';
import { labelOf, sizeOf } from './dtypes.js';
import { bytesUnder, plainBytes, unfilled } from './plain-bytes.js';
import { widenBfloat16, widenFloat16 } from './widen.js';

/**
 * State through typed arrays, which every tfjs backend supports. It has no random state: tfjs draws
 * its random numbers in JavaScript.
 */
export function portableState(): StateLayer {
  return {
    dtypeOf: elementsOf,
    async bytesOf(x) {
      elementsOf(x);
      return plainBytes(bytesUnder((await x.data()) as NodeJS.TypedArray));
    },
    bytesNow(x) {
      elementsOf(x);
      return plainBytes(bytesUnder(x.dataSync() as NodeJS.TypedArray));
    },
    allocate(dtype, shape) {
      const bytes = new Uint8Array(sizeOf(dtype, shape));
      return unfilled(dtype, shape, bytes, {
        toTensor: () => portableTensor(new (arrayTypeOf(dtype))(bytes.buffer), dtype, shape),
        dispose() {},
      });
    },
    getState: () => ({}),
    setState() {},
  };
}

/**
 * The element type of tfjs's values.
 *
 * @throws AccError `ACC_NOT_NATIVE` for strings.
 */
export function elementsOf({ dtype }: Tensor): NativeDtype {
  if (dtype !== 'string') return NATIVE_DTYPE[dtype];
  throw new AccError('ACC_NOT_NATIVE', 'A tensor of strings cannot be saved as tensor data.', {
    help: 'Save strings as plain values.',
  });
}

/** Makes a tfjs tensor of tfjs dtype `label` from elements of `dtype`. */
export function portableTensor(
  values: NativeValues,
  dtype: NativeDtype,
  shape: readonly number[],
  label: DataType = labelOf(dtype),
): Tensor {
  if (dtype === 'complex64') return complexOf(values as Float32Array, shape);
  const created = tensor(READ[dtype](values as never), [...shape], labelOf(dtype));
  if (created.dtype === label) return created;
  return tidy(() => cast(created, label));
}

/** Real and imaginary parts alternate in `parts`. */
function complexOf(parts: Float32Array, shape: readonly number[]): Tensor {
  const half = (first: 0 | 1) =>
    tensor(
      parts.filter((_, i) => i % 2 === first),
      [...shape],
      'float32',
    );
  return tidy(() => complex(half(0), half(1)));
}

/**
 * Converts elements of each type to what tfjs supports: wider floats are rounded to float32, and
 * wider integers are cut to int32.
 */
const READ = {
  float32: (values: Float32Array) => values,
  float64: (values: Float64Array) => Float32Array.from(values),
  float16: (values: Uint16Array) => widenFloat16(values),
  bfloat16: (values: Uint16Array) => widenBfloat16(values),
  int64: (values: BigInt64Array) => Int32Array.from(values, (value) => Number(BigInt.asIntN(32, value))),
  int32: (values: Int32Array) => values,
  int16: (values: Int16Array) => Int32Array.from(values),
  int8: (values: Int8Array) => Int32Array.from(values),
  uint8: (values: Uint8Array) => Int32Array.from(values),
  bool: (values: Uint8Array) => values,
} satisfies Readonly<Record<Exclude<NativeDtype, 'complex64'>, unknown>>;
