import { Less } from '@tensorflow/tfjs-core';
import { comparisonKernel } from '../families/comparison.js';
import { REALS } from '../families/elementwise.js';

export const less = comparisonKernel(Less, 'aten::lt.Tensor', REALS);
