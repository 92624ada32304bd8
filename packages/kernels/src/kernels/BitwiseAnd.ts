import { BitwiseAnd } from '@tensorflow/tfjs-core';
import { binaryKernel, REALS } from '../families/elementwise.js';

/** tfjs accepts only int32. */
export const bitwiseAnd = binaryKernel(BitwiseAnd, 'aten::bitwise_and.Tensor', REALS);
