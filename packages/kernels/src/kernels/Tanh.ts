import { Tanh } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const tanh = unaryKernel(Tanh, 'acc::tanh', FLOATS);
