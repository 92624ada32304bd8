import { All } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { reductionKernel } from '../families/reductions.js';

const allOver = operator('aten::all.dims');

export const all = reductionKernel(All, {
  ofNothing: 0,
  reduce: (x, axes, keepDims) => allOver(x, axes, keepDims),
});
