import { Rsqrt } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const rsqrt = unaryKernel(Rsqrt, 'acc::rsqrt', FLOATS);
