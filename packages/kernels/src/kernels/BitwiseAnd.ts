import { BitwiseAnd } from '@tensorflow/tfjs-core';
import { binaryKernel, REALS } from '../families/elementwise.js';

/** Of int32 only: tfjs refuses other dtypes. */
export const bitwiseAnd = binaryKernel(BitwiseAnd, 'aten::bitwise_and.Tensor', REALS);
