import { Neg } from '@tensorflow/tfjs-core';
import { NUMBERS_AND_COMPLEX, unaryKernel } from '../families/elementwise.js';

export const neg = unaryKernel(Neg, 'aten::neg', NUMBERS_AND_COMPLEX);
