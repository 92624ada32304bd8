import { Expm1 } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const expm1 = unaryKernel(Expm1, 'aten::expm1', FLOATS);
