import { Atan } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const atan = unaryKernel(Atan, 'aten::atan', FLOATS);
