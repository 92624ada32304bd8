import { Sum } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { countingDtype, reductionKernel } from '../families/reductions.js';

/** libtorch adds integers up as int64 unless it is told the dtype. */
export const sum = reductionKernel(Sum, {
  resultDtype: countingDtype,
  reduce: operator('aten::sum.dim_IntList'),
});
