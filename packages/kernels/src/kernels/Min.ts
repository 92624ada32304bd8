import { Min } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { reductionKernel } from '../families/reductions.js';

const amin = operator('aten::amin');

export const min = reductionKernel(Min, {
  ofNothing: NaN,
  reduce: (x, axes, keepDims) => amin(x, axes, keepDims),
});
