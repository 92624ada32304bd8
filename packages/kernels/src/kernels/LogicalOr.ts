import { LogicalOr } from '@tensorflow/tfjs-core';
import { binaryKernel, REALS } from '../families/elementwise.js';

export const logicalOr = binaryKernel(LogicalOr, 'aten::logical_or', REALS, 'bool');
