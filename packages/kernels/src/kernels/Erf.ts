import { Erf } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const erf = unaryKernel(Erf, 'acc::erf', FLOATS);
