import { IsFinite } from '@tensorflow/tfjs-core';
import { REALS, unaryKernel } from '../families/elementwise.js';

export const isFinite = unaryKernel(IsFinite, 'aten::isfinite', REALS, 'bool');
