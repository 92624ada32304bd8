import { Abs } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

export const abs = unaryKernel(Abs, 'aten::abs', NUMBERS);
