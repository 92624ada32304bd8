import { util, type TensorInfo } from '@tensorflow/tfjs-core';
import type { Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { mayView } from './views.js';

type Split = (x: NativeTensor) => NativeTensor[];

/**
 * `x` cut into parts, which are views of it unless that would keep too much memory alive for the smallest part.
 *
 * @param smallest Elements in the smallest part.
 * @param intoViews The cut, as views. @param intoCopies The same cut, as copies.
 */
export function cutIntoParts(
  backend: AccBackend,
  x: TensorInfo,
  smallest: number,
  intoViews: Split,
  intoCopies: Split,
): TensorInfo[] {
  const native = backend.native(x);
  if (!mayView(backend, x, smallest)) {
    return intoCopies(native).map((part) => backend.wrap(part, x.dtype));
  }
  const kept = backend.keptElements(x);
  return intoViews(native).map((part) => backend.wrap(part, x.dtype, kept));
}

/** Elements of `x` at one place along `dim`. */
export function elementsAcross(x: TensorInfo, dim: number): number {
  return util.sizeFromShape(x.shape.toSpliced(dim, 1));
}
