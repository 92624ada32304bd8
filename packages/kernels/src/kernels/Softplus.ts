import { Softplus } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const softplus = unaryKernel(Softplus, 'aten::softplus', FLOATS);
