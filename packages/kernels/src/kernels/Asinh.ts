import { Asinh } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const asinh = unaryKernel(Asinh, 'aten::asinh', FLOATS);
