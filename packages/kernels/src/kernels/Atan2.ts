import { Atan2 } from '@tensorflow/tfjs-core';
import { FLOATS, binaryKernel } from '../families/elementwise.js';

export const atan2 = binaryKernel(Atan2, 'aten::atan2', FLOATS);
