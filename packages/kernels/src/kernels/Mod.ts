import { Mod } from '@tensorflow/tfjs-core';
import { binaryKernel, FLOATS } from '../families/elementwise.js';

/**
 * The remainder with the sign of `b`. Integers are computed in float64, because libtorch's integer
 * remainder throws for a division by zero.
 */
export const mod = binaryKernel(Mod, 'aten::remainder.Tensor', FLOATS);
