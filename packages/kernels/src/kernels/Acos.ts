import { Acos } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const acos = unaryKernel(Acos, 'aten::acos', FLOATS);
