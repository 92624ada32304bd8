import { Sigmoid } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const sigmoid = unaryKernel(Sigmoid, 'acc::sigmoid', FLOATS);
