import { GreaterEqual } from '@tensorflow/tfjs-core';
import { comparisonKernel } from '../families/comparison.js';
import { REALS } from '../families/elementwise.js';

export const greaterEqual = comparisonKernel(GreaterEqual, 'aten::ge.Tensor', REALS);
