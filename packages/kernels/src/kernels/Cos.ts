import { Cos } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const cos = unaryKernel(Cos, 'aten::cos', FLOATS);
