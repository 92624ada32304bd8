import { Prod } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { countingDtype, reductionKernel } from '../families/reductions.js';

const productOver = operator('aten::prod.dim_int');

/**
 * libtorch multiplies over one dim in a call. The order is from the last dim to the first, so that
 * the remaining dims keep their index.
 */
export const prod = reductionKernel(Prod, {
  resultDtype: countingDtype,
  reduce: (x, axes, keepDims, asDtype) => {
    const [first, ...others] = axes.toSorted((a, b) => b - a);
    let product = productOver(x, first!, keepDims, asDtype);
    for (const dim of others) {
      using partial = product;
      product = productOver(partial, dim, keepDims, asDtype);
    }
    return product;
  },
});
