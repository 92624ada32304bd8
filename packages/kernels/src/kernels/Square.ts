import { Square } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { NUMBERS_AND_COMPLEX, unaryKernel } from '../families/elementwise.js';
import { elementwiseOperator } from '../fusion/elementwise-operators.js';
import { waitingKernel } from '../pending/defer.js';

const multiply = operator('aten::mul.Tensor');

export const square = waitingKernel(
  unaryKernel(Square, (x) => multiply(x, x), NUMBERS_AND_COMPLEX),
  elementwiseOperator('aten::square')!,
);
