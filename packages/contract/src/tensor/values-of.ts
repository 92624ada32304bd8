import type { Tensor } from '@tensorflow/tfjs-core';

/**
 * The values of a tensor, which is disposed.
 *
 * A `tidy` must not return numbers read from a tensor: tfjs looks for tensors among them, one by one.
 * The code that V8 compiles for this search meets a number and is discarded, in each step anew.
 */
export function valuesOf(tensor: Tensor): ArrayLike<number> & Iterable<number> {
  try {
    return tensor.dataSync();
  } finally {
    tensor.dispose();
  }
}
