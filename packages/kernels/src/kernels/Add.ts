import { Add } from '@tensorflow/tfjs-core';
import { ALL, binaryKernel } from '../families/elementwise.js';

export const add = binaryKernel(Add, 'aten::add.Tensor', ALL);
