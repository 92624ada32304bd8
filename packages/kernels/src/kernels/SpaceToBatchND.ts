import {
  backend_util,
  SpaceToBatchND,
  util,
  type SpaceToBatchNDAttrs,
  type SpaceToBatchNDInputs,
} from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const pad = operator('aten::constant_pad_nd');
const reshape = operator('aten::reshape');
const permute = operator('aten::permute');

export const spaceToBatchND = kernel<SpaceToBatchNDInputs, SpaceToBatchNDAttrs>(
  SpaceToBatchND,
  ({ inputs: { x }, attrs: { blockShape, paddings }, backend }) => {
    const block = util.sizeFromShape(blockShape);
    const others = x.shape.slice(1 + blockShape.length).map(() => [0, 0]);
    // libtorch counts from the last dim.
    using padded = pad(backend.native(x), [...paddings, ...others].toReversed().flat(), 0);
    const shape = padded.shape as number[];
    const reshaped = backend_util.getReshaped(shape, blockShape, block, false);
    using apart = reshape(padded, reshaped);
    using turned = permute(apart, backend_util.getPermuted(reshaped.length, blockShape.length, false));
    return backend.wrap(
      reshape(turned, backend_util.getReshapedPermuted(shape, blockShape, block, false)),
      x.dtype,
    );
  },
);
