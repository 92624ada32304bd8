import { Cosh } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const cosh = unaryKernel(Cosh, 'aten::cosh', FLOATS);
