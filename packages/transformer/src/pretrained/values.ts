import { transpose, type Tensor } from '@tensorflow/tfjs-core';
import type { KernelLayer, StateLayer, TensorBytes } from '@acc/contract';

/** Values of 16 bits, which have the tfjs dtype float32, in 32 bits. */
export function inFloat32(values: Tensor, { state, precision }: KernelLayer): Tensor {
  const dtype = state.dtypeOf(values);
  return dtype === 'float32' || !precision ? values : precision.cast(values, 'float32');
}

/** The bytes of a weight with its dims as files have them. The caller disposes them. */
export async function storedBytes(
  value: Tensor,
  permute: readonly number[] | undefined,
  state: StateLayer,
): Promise<TensorBytes> {
  const stored = permute ? transpose(value, [...permute]) : value.clone();
  try {
    return await state.bytesOf(stored);
  } finally {
    stored.dispose();
  }
}
