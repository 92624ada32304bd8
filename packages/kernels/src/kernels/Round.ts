import { Round } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

/** Halves round to the even neighbour. */
export const round = unaryKernel(Round, 'aten::round', NUMBERS);
