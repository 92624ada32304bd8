import { Cumprod } from '@tensorflow/tfjs-core';
import { cumulativeKernel } from '../families/cumulative.js';

export const cumprod = cumulativeKernel(Cumprod, 'aten::cumprod', 1);
