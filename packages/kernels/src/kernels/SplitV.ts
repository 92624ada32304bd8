import { backend_util, SplitV, util, type SplitVAttrs, type SplitVInputs } from '@tensorflow/tfjs-core';
import { operatorWithResults } from '@acc/native';
import { splitTensor } from '../families/split-join.js';
import { kernel } from '../kernel.js';

const split = operatorWithResults('aten::split_with_sizes');
const splitCopy = operatorWithResults('aten::split_with_sizes_copy');

export const splitV = kernel<SplitVInputs, SplitVAttrs>(
  SplitV,
  ({ inputs: { x }, attrs: { numOrSizeSplits, axis }, backend }) => {
    const dim = util.parseAxisParam(axis, x.shape)[0]!;
    // tfjs's type requires a tensor, but the function reads only its shape.
    const sizes = backend_util.prepareSplitSize(x as never, numOrSizeSplits, dim);
    return splitTensor(backend, x, sizes, dim, split, splitCopy);
  },
);
