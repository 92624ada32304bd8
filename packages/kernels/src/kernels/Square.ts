import { Square } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { NUMBERS_AND_COMPLEX, unaryKernel } from '../families/elementwise.js';

const multiply = operator('aten::mul.Tensor');

export const square = unaryKernel(Square, (x) => multiply(x, x), NUMBERS_AND_COMPLEX);
