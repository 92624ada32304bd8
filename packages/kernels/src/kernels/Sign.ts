import { Sign } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

/** -1, 0 or 1; 0 for NaN. */
export const sign = unaryKernel(Sign, 'aten::sign', NUMBERS);
