import { Relu6 } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { NUMBERS, unaryKernel } from '../families/elementwise.js';

const clamp = operator('aten::clamp');

export const relu6 = unaryKernel(Relu6, (x) => clamp(x, 0, 6), NUMBERS);
