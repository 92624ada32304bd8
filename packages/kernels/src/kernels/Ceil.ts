import { Ceil } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

export const ceil = unaryKernel(Ceil, 'aten::ceil', NUMBERS);
