import { Reciprocal } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const reciprocal = unaryKernel(Reciprocal, 'aten::reciprocal', FLOATS);
