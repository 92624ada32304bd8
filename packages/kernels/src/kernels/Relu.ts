import { Relu } from '@tensorflow/tfjs-core';
import { unaryKernel } from '../families/elementwise.js';

export const relu = unaryKernel(Relu, 'aten::relu');
