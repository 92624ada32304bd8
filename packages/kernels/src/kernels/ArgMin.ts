import { ArgMin } from '@tensorflow/tfjs-core';
import { argKernel } from '../families/arg-reductions.js';

export const argMin = argKernel(ArgMin, 'aten::argmin', Infinity);
