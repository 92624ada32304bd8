import { Bincount, type BincountAttrs, type BincountInputs } from '@tensorflow/tfjs-core';
import { countBins } from '../families/bincount.js';
import { kernel } from '../kernel.js';

export const bincount = kernel<BincountInputs, BincountAttrs>(
  Bincount,
  ({ inputs: { x, weights }, attrs: { size }, backend }) => countBins(backend, x, weights, { size }),
);
