import { IsNan } from '@tensorflow/tfjs-core';
import { REALS, unaryKernel } from '../families/elementwise.js';

export const isNan = unaryKernel(IsNan, 'aten::isnan', REALS, 'bool');
