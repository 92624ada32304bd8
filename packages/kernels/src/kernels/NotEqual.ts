import { NotEqual } from '@tensorflow/tfjs-core';
import { comparisonKernel } from '../families/comparison.js';
import { ALL } from '../families/elementwise.js';

export const notEqual = comparisonKernel(NotEqual, 'aten::ne.Tensor', ALL);
