import { FloorDiv } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import { toDtype } from '../families/conversion.js';
import { binaryKernel, FLOATS } from '../families/elementwise.js';

const divide = operator('aten::div.Tensor');
const floorInPlace = operatorInPlace('aten::floor_');

/**
 * The result is int32 for floats too. The division is in float64: quotients above 2^24 are then
 * exact, and a division by zero gives 0.
 */
export const floorDiv = binaryKernel(
  FloorDiv,
  (a, b) => {
    using wideA = toDtype(a, 'float64');
    using wideB = toDtype(b, 'float64');
    const quotient = divide(wideA, wideB);
    floorInPlace(quotient);
    return quotient;
  },
  FLOATS,
  'int32',
);
