import { Rsqrt } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const rsqrt = unaryKernel(Rsqrt, 'aten::rsqrt', FLOATS);
