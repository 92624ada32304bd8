import {
  backend_util,
  BatchToSpaceND,
  util,
  type BatchToSpaceNDAttrs,
  type BatchToSpaceNDInputs,
} from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const pad = operator('aten::constant_pad_nd');
const reshape = operator('aten::reshape');
const permute = operator('aten::permute');

export const batchToSpaceND = kernel<BatchToSpaceNDInputs, BatchToSpaceNDAttrs>(
  BatchToSpaceND,
  ({ inputs: { x }, attrs: { blockShape, crops }, backend }) => {
    const block = util.sizeFromShape(blockShape);
    const reshaped = backend_util.getReshaped(x.shape, blockShape, block);
    using apart = reshape(backend.native(x), reshaped);
    using turned = permute(apart, backend_util.getPermuted(reshaped.length, blockShape.length));
    using full = reshape(turned, backend_util.getReshapedPermuted(x.shape, blockShape, block));
    const others = x.shape.slice(1 + blockShape.length).map(() => [0, 0]);
    // Negative padding crops; libtorch counts from the last dim.
    const cuts = [...crops, ...others].toReversed().flat();
    return backend.wrap(
      pad(
        full,
        cuts.map((count) => -count),
        0,
      ),
      x.dtype,
    );
  },
);
