import { Sum } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { countingDtype, reductionKernel } from '../families/reductions.js';

/** libtorch adds integers as int64 if no dtype is given. */
export const sum = reductionKernel(Sum, {
  resultDtype: countingDtype,
  reduce: operator('aten::sum.dim_IntList'),
});
