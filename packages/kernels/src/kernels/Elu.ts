import { Elu } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const elu = unaryKernel(Elu, 'aten::elu', FLOATS);
