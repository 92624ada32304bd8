import { Asin } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const asin = unaryKernel(Asin, 'aten::asin', FLOATS);
