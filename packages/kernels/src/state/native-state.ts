import type { Tensor } from '@tensorflow/tfjs-core';
import type { MappedTensor, NativeDtype, StateLayer, TensorBytes, UnfilledTensor } from '@acc/contract';
import {
  arrayTypeOf,
  checksum,
  hasChecksum,
  mappedChecksum,
  mapTensor,
  operator,
  tensorFrom,
  TensorMemory,
  type Tensor as NativeTensor,
} from '@acc/native';
import type { AccBackend } from '../backend.js';
import { packedOf, unpackedOf } from '../packed/packed-tensor.js';
import { labelOf, sizeOf } from './dtypes.js';
import { bytesUnder, plainBytes, unfilled } from './plain-bytes.js';
import { restoreChoices, savedChoices } from './choices.js';

const contiguous = operator('aten::contiguous');
const empty = operator('aten::empty.memory_format');

/** In host memory, tensors are read and filled in place; on a device, they are copied. */
export function nativeState(backend: AccBackend): StateLayer {
  const isHost = backend.device === 'cpu';
  return {
    dtypeOf: (x) => (packedOf(x) ? 'float32' : backend.native(x).dtype),
    bytesOf: async (x) => (isHost ? hostBytes(backend, x) : copiedBytes(backend, x)),
    bytesNow: (x) => (isHost ? hostBytes(backend, x) : copiedBytesNow(backend, x)),
    allocate: (dtype, shape) => (isHost ? onHost(backend, dtype, shape) : forDevice(backend, dtype, shape)),
    ...(hasChecksum() && {
      checksum,
      ...(isHost && {
        map: (path, start, dtype, shape) => mapped(backend, mapTensor(path, start, dtype, shape)),
      }),
    }),
    getState: () => savedChoices(backend.device),
    setState: (state) => restoreChoices(backend.device, state),
  };
}

/** The tensor is filled in its final memory. */
function onHost(backend: AccBackend, dtype: NativeDtype, shape: readonly number[]): UnfilledTensor {
  const native = empty(shape, dtype);
  const memory = new TensorMemory(native);
  return unfilled(dtype, shape, memory.bytes, {
    toTensor() {
      memory.dispose();
      return wrapped(backend, native);
    },
    dispose() {
      memory.dispose();
      native.dispose();
    },
  });
}

function mapped(backend: AccBackend, native: NativeTensor | undefined): MappedTensor | undefined {
  const dispose = () => native?.dispose();
  return (
    native && {
      checksum: (start, length) => mappedChecksum(native, start, length),
      toTensor: () => wrapped(backend, native),
      dispose,
      [Symbol.dispose]: dispose,
    }
  );
}

function forDevice(backend: AccBackend, dtype: NativeDtype, shape: readonly number[]): UnfilledTensor {
  const array = arrayTypeOf(dtype);
  const values = new array(sizeOf(dtype, shape) / array.BYTES_PER_ELEMENT);
  return unfilled(dtype, shape, bytesUnder(values), {
    toTensor: () => wrapped(backend, tensorFrom(values, dtype, shape)),
    dispose() {},
  });
}

function wrapped(backend: AccBackend, native: NativeTensor): Tensor {
  return backend.tensorOf(native, labelOf(native.dtype));
}

function hostBytes(backend: AccBackend, x: Tensor): TensorBytes {
  using values = unpackedOf(x);
  using rows = contiguous(values ?? backend.native(x));
  return new TensorMemory(rows);
}

async function copiedBytes(backend: AccBackend, x: Tensor): Promise<TensorBytes> {
  using values = unpackedOf(x);
  return plainBytes(bytesUnder(await (values ?? backend.native(x)).readAsync()));
}

function copiedBytesNow(backend: AccBackend, x: Tensor): TensorBytes {
  using values = unpackedOf(x);
  return plainBytes(bytesUnder((values ?? backend.native(x)).read() as NodeJS.TypedArray));
}
