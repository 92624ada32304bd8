import { Concat, util, type ConcatAttrs, type ConcatInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { joinTensors } from '../families/split-join.js';
import { kernelWithStrings } from '../families/strings.js';

const cat = operator('aten::cat');

/** The result has the dtype of the first input. */
export const concat = kernelWithStrings<ConcatInputs, ConcatAttrs>(
  Concat,
  0,
  ({ inputs, attrs: { axis }, backend }) => {
    const [{ shape, dtype }] = inputs as [(typeof inputs)[0]];
    const dim = util.parseAxisParam(axis, shape)[0]!;
    const tensors = inputs.map((input) => backend.native(input));
    return backend.wrap(joinTensors(tensors, dim, cat, cat), dtype);
  },
);
