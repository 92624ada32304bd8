import { Round } from '@tensorflow/tfjs-core';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

/** Halves go to the even neighbour. */
export const round = unaryKernel(Round, 'aten::round', NUMBERS);
