import { Any } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { reductionKernel } from '../families/reductions.js';

const anyOver = operator('aten::any.dims');

export const any = reductionKernel(Any, {
  ofNothing: 0,
  reduce: (x, axes, keepDims) => anyOver(x, axes, keepDims),
});
