import {
  ResizeBilinearGrad,
  type ResizeBilinearGradAttrs,
  type ResizeBilinearGradInputs,
} from '@tensorflow/tfjs-core';
import { channelsFirst, fromChannelsFirst } from '../families/images.js';
import { resizeBilinearGradient } from '../families/resize-bilinear.js';
import { kernel } from '../kernel.js';

/** Ignores `halfPixelCenters`, as tfjs's own backends do. */
export const resizeBilinearGrad = kernel<ResizeBilinearGradInputs, ResizeBilinearGradAttrs>(
  ResizeBilinearGrad,
  ({ inputs: { images, dy }, attrs: { alignCorners }, backend }) => {
    const [, height, width] = images.shape as [number, number, number, number];
    using first = channelsFirst(backend.native(dy), 'NHWC');
    const gradient = resizeBilinearGradient(first, [height, width], alignCorners ? 'corners' : 'origins');
    return backend.wrap(fromChannelsFirst(gradient, 'NHWC'), 'float32');
  },
);
