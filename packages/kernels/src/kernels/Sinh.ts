import { Sinh } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const sinh = unaryKernel(Sinh, 'aten::sinh', FLOATS);
