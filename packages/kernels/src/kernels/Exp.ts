import { Exp } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const exp = unaryKernel(Exp, 'acc::exp', FLOATS, 'float32');
