import { IsInf } from '@tensorflow/tfjs-core';
import { REALS, unaryKernel } from '../families/elementwise.js';

export const isInf = unaryKernel(IsInf, 'aten::isinf', REALS, 'bool');
