import { Pow } from '@tensorflow/tfjs-core';
import { binaryKernel, NUMBERS } from '../families/elementwise.js';

/** Powers of floats follow IEEE 754, where `1 ** NaN` is 1; those of integers wrap around. */
export const pow = binaryKernel(Pow, 'aten::pow.Tensor_Tensor', NUMBERS);
