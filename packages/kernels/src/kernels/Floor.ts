import { Floor } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

export const floor = unaryKernel(Floor, 'aten::floor', NUMBERS);
