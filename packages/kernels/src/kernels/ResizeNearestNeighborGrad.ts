import {
  ResizeNearestNeighborGrad,
  type ResizeNearestNeighborGradAttrs,
  type ResizeNearestNeighborGradInputs,
} from '@tensorflow/tfjs-core';
import { channelsFirst, fromChannelsFirst } from '../families/images.js';
import { sumPool } from '../families/pooling.js';
import { addPixels, nearestSources, repeats } from '../families/resize-nearest.js';
import { kernel } from '../kernel.js';

/** Ignores `halfPixelCenters`, as tfjs's own backends do. */
export const resizeNearestNeighborGrad = kernel<
  ResizeNearestNeighborGradInputs,
  ResizeNearestNeighborGradAttrs
>(ResizeNearestNeighborGrad, ({ inputs: { images, dy }, attrs: { alignCorners }, backend }) => {
  const [batch, height, width, channels] = images.shape as [number, number, number, number];
  const grid = { alignCorners, halfPixelCenters: false };
  const rows = nearestSources(height, dy.shape[1]!, grid);
  const columns = nearestSources(width, dy.shape[2]!, grid);
  const [rowRepeats, columnRepeats] = [repeats(rows, height), repeats(columns, width)];
  const gradient = backend.native(dy);
  if (rowRepeats && columnRepeats) {
    using first = channelsFirst(gradient, 'NHWC');
    return backend.wrap(fromChannelsFirst(sumPool(first, [rowRepeats, columnRepeats]), 'NHWC'), images.dtype);
  }
  return backend.wrap(addPixels(gradient, [batch, height, width, channels], rows, columns), images.dtype);
});
