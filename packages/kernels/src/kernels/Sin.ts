import { Sin } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const sin = unaryKernel(Sin, 'aten::sin', FLOATS);
