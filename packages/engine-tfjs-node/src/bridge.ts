import type { Tensor } from '@tensorflow/tfjs-core';
import { hostTensor, type NativeTensor, type TensorBridge } from '@acc/contract';
import { portableBridge } from '@acc/kernels';
import { DataTypes, isShort, type ShortDtype } from './backend.js';
import type { Operators } from './operators.js';

/**
 * 16-bit floats travel as their bits, half as many bytes as in float32. The binding copies what it
 * reads and what it is given, so other tensors go the portable way, which copies as often.
 */
export function bridgeOn(operators: Operators): TensorBridge {
  return {
    toNative(x) {
      const isBits = x.dtype === 'float32' && isShort(operators.entryOf(x).dtype);
      return isBits ? bitsOf(operators, x) : portableBridge.toNative(x);
    },
    fromNative(native, dtype) {
      const isBits = dtype === 'float32' && (native.dtype === 'bfloat16' || native.dtype === 'float16');
      return isBits
        ? ofBits(operators, native, native.dtype as ShortDtype)
        : portableBridge.fromNative(native, dtype);
    },
  };
}

function bitsOf(operators: Operators, x: Tensor): NativeTensor {
  const { dtype } = operators.entryOf(x);
  const attributes = [operators.type('T', dtype), operators.type('type', DataTypes.uint8)];
  const bytes = operators.run('Bitcast', attributes, [operators.idOf(x)]).id;
  const { buffer, byteOffset } = operators.binding.tensorDataSync(bytes) as Uint8Array;
  operators.delete(bytes);
  const name = dtype === DataTypes.bfloat16 ? 'bfloat16' : 'float16';
  return hostTensor(new Uint16Array(buffer, byteOffset, x.size), name, x.shape);
}

function ofBits(operators: Operators, native: NativeTensor, dtype: ShortDtype): Tensor {
  using given = native;
  const bits = given.read() as Uint16Array;
  const bytes = new Uint8Array(bits.buffer, bits.byteOffset, bits.byteLength);
  const raw = operators.binding.createTensor([...given.shape, 2], DataTypes.uint8, bytes);
  const attributes = [operators.type('T', DataTypes.uint8), operators.type('type', DataTypes[dtype])];
  const result = operators.run('Bitcast', attributes, [raw]);
  operators.delete(raw);
  return operators.tensorOf(result, 'float32');
}
