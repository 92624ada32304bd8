import { LogicalAnd } from '@tensorflow/tfjs-core';
import { binaryKernel, REALS } from '../families/elementwise.js';

export const logicalAnd = binaryKernel(LogicalAnd, 'aten::logical_and', REALS, 'bool');
