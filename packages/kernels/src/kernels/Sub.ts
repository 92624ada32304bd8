import { Sub } from '@tensorflow/tfjs-core';
import { NUMBERS_AND_COMPLEX, binaryKernel } from '../families/elementwise.js';

export const sub = binaryKernel(Sub, 'aten::sub.Tensor', NUMBERS_AND_COMPLEX);
