import { Mean } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { reductionKernel } from '../families/reductions.js';

export const mean = reductionKernel(Mean, {
  resultDtype: () => 'float32',
  ofNothing: 0,
  reduce: operator('aten::mean.dim'),
});
