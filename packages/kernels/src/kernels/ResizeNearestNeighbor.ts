import {
  ResizeNearestNeighbor,
  type ResizeNearestNeighborAttrs,
  type ResizeNearestNeighborInputs,
} from '@tensorflow/tfjs-core';
import { nearestSources, pickPixels } from '../families/resize-nearest.js';
import { kernel } from '../kernel.js';

export const resizeNearestNeighbor = kernel<ResizeNearestNeighborInputs, ResizeNearestNeighborAttrs>(
  ResizeNearestNeighbor,
  ({ inputs: { images }, attrs, backend }) => {
    const [, height, width] = images.shape as [number, number, number, number];
    const rows = nearestSources(height, attrs.size[0], attrs);
    const columns = nearestSources(width, attrs.size[1], attrs);
    return backend.wrap(pickPixels(backend.native(images), rows, columns), images.dtype);
  },
);
