import { LogicalNot } from '@tensorflow/tfjs-core';
import { REALS, unaryKernel } from '../families/elementwise.js';

export const logicalNot = unaryKernel(LogicalNot, 'aten::logical_not', REALS, 'bool');
