import { Log1p } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const log1p = unaryKernel(Log1p, 'aten::log1p', FLOATS);
