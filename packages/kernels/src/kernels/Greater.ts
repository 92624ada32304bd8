import { Greater } from '@tensorflow/tfjs-core';
import { comparisonKernel } from '../families/comparison.js';
import { REALS } from '../families/elementwise.js';

export const greater = comparisonKernel(Greater, 'aten::gt.Tensor', REALS);
