import { Selu } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const selu = unaryKernel(Selu, 'aten::selu', FLOATS);
