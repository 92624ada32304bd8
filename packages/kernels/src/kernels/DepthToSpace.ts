import { DepthToSpace, util, type DepthToSpaceAttrs, type DepthToSpaceInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const reshape = operator('aten::reshape');
const permute = operator('aten::permute');

/**
 * Moves blocks of channels into blocks of pixels. As on tfjs's cpu backend, only with the channels
 * last.
 */
export const depthToSpace = kernel<DepthToSpaceInputs, DepthToSpaceAttrs>(
  DepthToSpace,
  ({ inputs: { x }, attrs: { blockSize: block, dataFormat }, backend }) => {
    util.assert(
      dataFormat === 'NHWC',
      () => `Only NHWC dataFormat supported for depthToSpace. Got ${dataFormat}`,
    );
    const [batch, height, width, depth] = x.shape as [number, number, number, number];
    const channels = depth / (block * block);
    using blocks = reshape(backend.native(x), [batch, height, width, block, block, channels]);
    using pixels = permute(blocks, [0, 1, 3, 2, 4, 5]);
    return backend.wrap(reshape(pixels, [batch, height * block, width * block, channels]), x.dtype);
  },
);
