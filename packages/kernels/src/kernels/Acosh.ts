import { Acosh } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const acosh = unaryKernel(Acosh, 'aten::acosh', FLOATS);
