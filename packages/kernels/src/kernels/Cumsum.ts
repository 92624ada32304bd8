import { Cumsum } from '@tensorflow/tfjs-core';
import { cumulativeKernel } from '../families/cumulative.js';

export const cumsum = cumulativeKernel(Cumsum, 'aten::cumsum', 0);
