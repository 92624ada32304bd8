import { SquaredDifference } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { binaryKernel, NUMBERS } from '../families/elementwise.js';
import type { ElementwiseOperator } from '../fusion/elementwise-operators.js';
import { waitingKernel } from '../pending/defer.js';

const subtract = operator('aten::sub.Tensor');
const multiply = operator('aten::mul.Tensor');
const squaredError = operator('aten::mse_loss');
const NO_REDUCTION = 0;

const form: ElementwiseOperator = {
  emit: (program, [a, b]) => {
    const difference = program.step('sub', a!, b!);
    return program.step('mul', difference, difference);
  },
  isExact: true,
};

export const squaredDifference = waitingKernel(
  binaryKernel(
    SquaredDifference,
    (a, b) => {
      // One pass instead of two, which libtorch supports only for floats.
      if (a.dtype !== 'int32' && b.dtype !== 'int32') return squaredError(a, b, NO_REDUCTION);
      using difference = subtract(a, b);
      return multiply(difference, difference);
    },
    NUMBERS,
  ),
  form,
);
