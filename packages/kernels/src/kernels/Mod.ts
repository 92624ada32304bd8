import { Mod } from '@tensorflow/tfjs-core';
import { binaryKernel, FLOATS } from '../families/elementwise.js';

/** The remainder with the sign of `b`. Integers go through float64: libtorch's own refuse to divide by zero. */
export const mod = binaryKernel(Mod, 'aten::remainder.Tensor', FLOATS);
