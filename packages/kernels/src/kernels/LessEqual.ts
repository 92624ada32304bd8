import { LessEqual } from '@tensorflow/tfjs-core';
import { comparisonKernel } from '../families/comparison.js';
import { REALS } from '../families/elementwise.js';

export const lessEqual = comparisonKernel(LessEqual, 'aten::le.Tensor', REALS);
