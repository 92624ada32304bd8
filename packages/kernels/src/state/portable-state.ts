import { complex, tensor, tidy, type Tensor } from '@tensorflow/tfjs-core';
import { AccError, type NativeDtype, type StateLayer } from '@acc/contract';
import { NATIVE_DTYPE } from '../backend.js';
import { labelOf, sizeOf } from './dtypes.js';
import { bytesUnder, plainBytes, unfilled } from './native-state.js';
import { widenBfloat16, widenFloat16 } from './widen.js';

/** By the typed arrays that every tfjs backend gives and takes. tfjs's own random numbers come from JavaScript. */
export function portableState(): StateLayer {
  return {
    dtypeOf: nativeDtypeOf,
    async bytesOf(x) {
      nativeDtypeOf(x);
      return plainBytes(bytesUnder((await x.data()) as NodeJS.TypedArray));
    },
    allocate(dtype, shape) {
      const bytes = new Uint8Array(sizeOf(dtype, shape));
      return unfilled(dtype, shape, bytes, {
        toTensor: () => tensorOf(bytes.buffer, dtype, shape),
        dispose() {},
      });
    },
    getState: () => ({}),
    setState() {},
  };
}

function nativeDtypeOf({ dtype }: Tensor): NativeDtype {
  if (dtype !== 'string') return NATIVE_DTYPE[dtype];
  throw new AccError('ACC_NOT_NATIVE', 'A tensor of strings has no elements of a fixed size.', {
    help: 'Keep strings as plain values.',
  });
}

function tensorOf(buffer: ArrayBuffer, dtype: NativeDtype, shape: readonly number[]): Tensor {
  if (dtype === 'complex64') return complexOf(new Float32Array(buffer), shape);
  return tensor(READ[dtype](buffer), [...shape], labelOf(dtype));
}

/** Real and imaginary parts lie in turn. */
function complexOf(parts: Float32Array, shape: readonly number[]): Tensor {
  const half = (first: 0 | 1) =>
    tensor(
      parts.filter((_, i) => i % 2 === first),
      [...shape],
      'float32',
    );
  return tidy(() => complex(half(0), half(1)));
}

/** What tfjs takes for elements of each type: rounded to float32, or as int32, where it has nothing wider. */
const READ: Readonly<
  Record<Exclude<NativeDtype, 'complex64'>, (buffer: ArrayBuffer) => Float32Array | Int32Array | Uint8Array>
> = {
  float32: (buffer) => new Float32Array(buffer),
  float64: (buffer) => Float32Array.from(new Float64Array(buffer)),
  float16: (buffer) => widenFloat16(new Uint16Array(buffer)),
  bfloat16: (buffer) => widenBfloat16(new Uint16Array(buffer)),
  int64: (buffer) => Int32Array.from(new BigInt64Array(buffer), (value) => Number(BigInt.asIntN(32, value))),
  int32: (buffer) => new Int32Array(buffer),
  int16: (buffer) => Int32Array.from(new Int16Array(buffer)),
  int8: (buffer) => Int32Array.from(new Int8Array(buffer)),
  uint8: (buffer) => Int32Array.from(new Uint8Array(buffer)),
  bool: (buffer) => new Uint8Array(buffer),
};
