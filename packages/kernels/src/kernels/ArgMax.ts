import { ArgMax } from '@tensorflow/tfjs-core';
import { argKernel } from '../families/arg-reductions.js';

export const argMax = argKernel(ArgMax, 'aten::argmax', -Infinity);
