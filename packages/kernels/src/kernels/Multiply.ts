import { Multiply } from '@tensorflow/tfjs-core';
import { ALL, binaryKernel } from '../families/elementwise.js';

export const multiply = binaryKernel(Multiply, 'aten::mul.Tensor', ALL);
