import { Sigmoid } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const sigmoid = unaryKernel(Sigmoid, 'aten::sigmoid', FLOATS);
