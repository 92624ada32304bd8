import { broadcastTo, reshape, type Tensor } from '@tensorflow/tfjs-core';

/** Repeats `reduced`, whose `axes` were summed, to the shape before the sum. */
export function expandOver(reduced: Tensor, shape: number[], axes: readonly number[]): Tensor {
  const kept = shape.map((length, dim) => (axes.includes(dim) ? 1 : length));
  return broadcastTo(reshape(reduced, kept), shape as [number]);
}
