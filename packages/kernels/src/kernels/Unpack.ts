import { Unpack, type UnpackAttrs, type UnpackInputs } from '@tensorflow/tfjs-core';
import { operatorWithResults } from '@acc/native';
import { splitTensor } from '../families/split-join.js';
import { kernelWithStrings } from '../families/strings.js';

const unbind = operatorWithResults('aten::unbind.int');
const unbindCopy = operatorWithResults('aten::unbind_copy.int');

export const unpack = kernelWithStrings<UnpackInputs, UnpackAttrs>(
  Unpack,
  'value',
  ({ inputs: { value }, attrs: { axis }, backend }) => {
    const dim = axis < 0 ? axis + value.shape.length : axis;
    return splitTensor(
      backend,
      value,
      new Array<number>(value.shape[dim]!).fill(1),
      dim,
      (x) => unbind(x, dim),
      (x) => unbindCopy(x, dim),
    );
  },
);
