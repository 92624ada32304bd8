import type { Tensor } from '@tensorflow/tfjs-core';
import { ownedHostTensor, type NativeTensor, type TensorBridge } from '@acc/contract';
import { portableBridge } from '@acc/kernels';
import { DataTypes, isShort, type ShortDtype } from './backend.js';
import type { Operators } from './operators.js';

/**
 * 16-bit floats travel as their bits, half as many bytes as in float32. Other tensors go the portable
 * way. The binding reads into an array that is ours, so nothing else copies it.
 */
export function bridgeOn(operators: Operators): TensorBridge {
  return {
    toNative(x) {
      if (x.dtype === 'complex64' || x.dtype === 'string') return portableBridge.toNative(x);
      const entry = operators.entryOf(x);
      if (x.dtype === 'float32' && isShort(entry.dtype)) return bitsOf(operators, x);
      const read = portableBridge.toNative(x);
      // Values that are not in TensorFlow yet are those that the program gave.
      return entry.values ? read : ownedHostTensor(read.read(), read.dtype, read.shape);
    },
    fromNative(native, dtype) {
      const isBits = dtype === 'float32' && (native.dtype === 'bfloat16' || native.dtype === 'float16');
      return isBits
        ? ofBits(operators, native, native.dtype as ShortDtype)
        : portableBridge.fromNative(native, dtype);
    },
  };
}

/** The binding reads no 16-bit types, so pairs of elements are read as one int32. */
function bitsOf(operators: Operators, x: Tensor): NativeTensor {
  const { dtype } = operators.entryOf(x);
  const name = dtype === DataTypes.bfloat16 ? 'bfloat16' : 'float16';
  if (x.size === 0) return ownedHostTensor(new Uint16Array(0), name, x.shape);
  return operators.freeing((keep) => {
    const flat = keep(operators.reshape(operators.idOf(x), dtype, [x.size]));
    const even = x.size % 2 === 0 ? flat : keep(twice(operators, flat, dtype));
    const pairs = keep(operators.reshape(even, dtype, [-1, 2]));
    const attributes = [operators.type('T', dtype), operators.type('type', DataTypes.int32)];
    const words = keep(operators.run('Bitcast', attributes, [pairs]).id);
    const { buffer, byteOffset } = operators.binding.tensorDataSync(words) as Int32Array;
    return ownedHostTensor(new Uint16Array(buffer, byteOffset, x.size), name, x.shape);
  });
}

/** `id` followed by itself, which has an even number of elements. */
function twice(operators: Operators, id: number, dtype: number): number {
  const count = { name: 'N', type: operators.binding.TF_ATTR_INT, value: 2 };
  const attributes = [operators.type('T', dtype), operators.type('Tidx', DataTypes.int32), count];
  return operators.freeing((keep) => {
    const axis = keep(operators.binding.createTensor([], DataTypes.int32, Int32Array.of(0)));
    return operators.run('ConcatV2', attributes, [id, id, axis]).id;
  });
}

function ofBits(operators: Operators, native: NativeTensor, dtype: ShortDtype): Tensor {
  using given = native;
  const bits = given.read() as Uint16Array;
  const bytes = new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength);
  const attributes = [operators.type('T', DataTypes.uint8), operators.type('type', DataTypes[dtype])];
  return operators.freeing((keep) => {
    const raw = keep(operators.binding.createTensor([...given.shape, 2], DataTypes.uint8, bytes));
    return operators.tensorOf(operators.run('Bitcast', attributes, [raw]), 'float32');
  });
}
