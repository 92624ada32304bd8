import { broadcastTo, reshape, type Tensor } from '@tensorflow/tfjs-core';

/** `reduced`, whose `axes` were summed away, repeated over the shape it came from. */
export function expandOver(reduced: Tensor, shape: number[], axes: readonly number[]): Tensor {
  const kept = shape.map((length, dim) => (axes.includes(dim) ? 1 : length));
  return broadcastTo(reshape(reduced, kept), shape as [number]);
}
