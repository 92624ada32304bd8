import { Variable, type Tensor, type TensorInfo } from '@tensorflow/tfjs-core';
import type { Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';

/** The sum to which the next matrix product is added, until a product takes it. */
let next: Tensor | undefined;

/** See `ListMath.addProduct`. */
export function addingTo(sum: Tensor, product: () => Tensor): Tensor {
  const outer = next;
  next = sum;
  let result;
  let isTaken;
  try {
    result = product();
  } finally {
    isTaken = next === undefined;
    next = outer;
  }
  if (isTaken && result.dataId !== sum.dataId) {
    throw new Error('addProduct got a function that computes something from its product.');
  }
  return result;
}

/**
 * Takes the sum to which the product of these native tensors is to be added. Borrowed. Undefined if
 * there is none, or if it cannot be added in place.
 *
 * Whether it can follows from shapes and dtypes, so that a recorded step rounds as a plain one.
 */
export function takeSum(
  backend: AccBackend,
  shape: readonly [number, number],
  factors: readonly NativeTensor[],
): { readonly native: NativeTensor; readonly info: TensorInfo } | undefined {
  if (!next || next instanceof Variable || factors.some(({ dtype }) => dtype !== 'float32')) return undefined;
  const info = next;
  if (info.rank !== 2 || info.shape[0] !== shape[0] || info.shape[1] !== shape[1]) return undefined;
  const native = backend.nativeToWrite(info);
  if (native?.dtype !== 'float32') return undefined;
  next = undefined;
  return { native, info };
}
