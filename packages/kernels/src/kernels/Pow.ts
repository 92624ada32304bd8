import { Pow } from '@tensorflow/tfjs-core';
import { binaryKernel, NUMBERS } from '../families/elementwise.js';

/** Float powers follow IEEE 754, where `1 ** NaN` is 1; integer powers wrap around. */
export const pow = binaryKernel(Pow, 'aten::pow.Tensor_Tensor', NUMBERS);
