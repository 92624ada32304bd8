import { Reshape, util, type ReshapeAttrs, type ReshapeInputs } from '@tensorflow/tfjs-core';
import { AccError } from '@acc/contract';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

/**
 * Returns the same data with another shape, as in tfjs cpu. libtorch reshapes only when a kernel
 * needs the data in that shape.
 */
export const reshape = kernel<ReshapeInputs, ReshapeAttrs>(Reshape, ({ inputs: { x }, attrs, backend }) => {
  const size = util.sizeFromShape(x.shape);
  const shape = util.inferFromImplicitShape(attrs.shape, size);
  if (util.sizeFromShape(shape) !== size) {
    throw new AccError(
      'ACC_SHAPE_MISMATCH',
      `Reshape: [${x.shape.join()}] has ${size} elements, but [${attrs.shape.join()}] has ${util.sizeFromShape(shape)}.`,
      { help: 'Give a shape with as many elements. One dim may be -1.' },
    );
  }
  return sameData(backend, { dataId: x.dataId, shape, dtype: x.dtype });
});
