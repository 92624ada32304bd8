import { Sqrt } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const sqrt = unaryKernel(Sqrt, 'acc::sqrt', FLOATS);
