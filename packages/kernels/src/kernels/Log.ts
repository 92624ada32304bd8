import { Log } from '@tensorflow/tfjs-core';
import { FLOATS, unaryKernel } from '../families/elementwise.js';

export const log = unaryKernel(Log, 'acc::log', FLOATS);
