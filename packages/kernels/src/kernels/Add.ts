import { Add } from '@tensorflow/tfjs-core';
import { binaryKernel } from '../families/elementwise.js';

export const add = binaryKernel(Add, 'aten::add.Tensor');
