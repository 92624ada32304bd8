import { ExpandDims, type ExpandDimsAttrs, type ExpandDimsInputs } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

/**
 * Returns the same data with another dim of size 1 before dim `dim`; negative `dim` counts from the
 * end.
 */
export const expandDims = kernel<ExpandDimsInputs, ExpandDimsAttrs>(
  ExpandDims,
  ({ inputs: { input }, attrs: { dim }, backend }) => {
    const rank = input.shape.length;
    if (dim < -(rank + 1) || dim > rank) {
      throw new AccError(
        'ACC_AXIS_OUT_OF_RANGE',
        `ExpandDims: dim ${dim} is not in [${-(rank + 1)}, ${rank}].`,
        { help: 'Count dims from 0, or from the end by negative numbers.' },
      );
    }
    const shape = input.shape.toSpliced(dim < 0 ? rank + dim + 1 : dim, 0, 1);
    return sameData(backend, { dataId: input.dataId, shape, dtype: input.dtype });
  },
);
