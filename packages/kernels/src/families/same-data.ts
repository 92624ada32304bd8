import type { TensorInfo } from '@tensorflow/tfjs-core';
import type { AccBackend } from '../backend.js';

/** A second tensor with the same data. tfjs counts it as one more reference. Nothing is copied. */
export function sameData(backend: AccBackend, { dataId, shape, dtype }: TensorInfo): TensorInfo {
  backend.incRef(dataId);
  return { dataId, shape, dtype };
}
