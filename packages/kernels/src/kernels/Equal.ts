import { Equal } from '@tensorflow/tfjs-core';
import { comparisonKernel } from '../families/comparison.js';
import { ALL } from '../families/elementwise.js';

export const equal = comparisonKernel(Equal, 'aten::eq.Tensor', ALL);
