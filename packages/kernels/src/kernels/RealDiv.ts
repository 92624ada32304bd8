import { RealDiv } from '@tensorflow/tfjs-core';
import { binaryKernel, FLOATS_AND_COMPLEX } from '../families/elementwise.js';

export const realDiv = binaryKernel(RealDiv, 'aten::div.Tensor', FLOATS_AND_COMPLEX);
