import { ResizeBilinear, type ResizeBilinearAttrs, type ResizeBilinearInputs } from '@tensorflow/tfjs-core';
import { toDtype } from '../families/conversion.js';
import { channelsFirst, fromChannelsFirst } from '../families/images.js';
import { resizeBilinear as resized } from '../families/resize-bilinear.js';
import { kernel } from '../kernel.js';

/** The result is float32 for every dtype of the images. */
export const resizeBilinear = kernel<ResizeBilinearInputs, ResizeBilinearAttrs>(
  ResizeBilinear,
  ({ inputs: { images }, attrs: { alignCorners, halfPixelCenters, size }, backend }) => {
    const native = backend.native(images);
    using float = images.dtype === 'float32' ? undefined : toDtype(native, 'float32');
    using first = channelsFirst(float ?? native, 'NHWC');
    const grid = alignCorners ? 'corners' : halfPixelCenters ? 'centers' : 'origins';
    return backend.wrap(fromChannelsFirst(resized(first, size, grid), 'NHWC'), 'float32');
  },
);
