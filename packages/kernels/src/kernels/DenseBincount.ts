import { DenseBincount, type DenseBincountAttrs, type DenseBincountInputs } from '@tensorflow/tfjs-core';
import { countBins } from '../families/bincount.js';
import { kernel } from '../kernel.js';

/** Counts in a vector, or in each row of a matrix. */
export const denseBincount = kernel<DenseBincountInputs, DenseBincountAttrs>(
  DenseBincount,
  ({ inputs: { x, weights }, attrs: { size, binaryOutput }, backend }) =>
    countBins(backend, x, weights, {
      size,
      binaryOutput: binaryOutput === true,
      perRow: x.shape.length === 2,
    }),
);
