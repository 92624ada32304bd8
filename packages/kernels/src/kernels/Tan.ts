import { Tan } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const tan = unaryKernel(Tan, 'aten::tan', FLOATS);
