import { Minimum } from '@tensorflow/tfjs-core';
import { REALS, binaryKernel } from '../families/elementwise.js';

export const minimum = binaryKernel(Minimum, 'acc::minimum', REALS);
