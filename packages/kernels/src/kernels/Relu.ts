import { Relu } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

export const relu = unaryKernel(Relu, 'acc::relu', NUMBERS);
