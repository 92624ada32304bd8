import { Maximum } from '@tensorflow/tfjs-core';
import { REALS, binaryKernel } from '../families/elementwise.js';

export const maximum = binaryKernel(Maximum, 'acc::maximum', REALS);
