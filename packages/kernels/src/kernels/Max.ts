import { Max, type MaxAttrs, type MaxInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { reduceOver, type Reduction } from '../families/reductions.js';
import { kernel } from '../kernel.js';

const amax = operator('aten::amax');

const reduction: Reduction = {
  ofNothing: NaN,
  reduce: (x, axes, keepDims) => amax(x, axes, keepDims),
};

export const max = kernel<MaxInputs, MaxAttrs>(
  Max,
  ({ inputs: { x }, attrs: { reductionIndices, keepDims }, backend }) =>
    reduceOver(backend, x, reductionIndices, keepDims, reduction),
);
