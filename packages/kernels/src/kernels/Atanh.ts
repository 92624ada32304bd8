import { Atanh } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const atanh = unaryKernel(Atanh, 'aten::atanh', FLOATS);
