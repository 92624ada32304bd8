import { MaxPool, type MaxPoolAttrs, type MaxPoolInputs } from '@tensorflow/tfjs-core';
import type { Tensor as NativeTensor } from '@acc/native';
import { pool2D, pooled } from '../families/pool-kernels.js';
import { maxPool as maximaOf } from '../families/pooling.js';
import { kernel } from '../kernel.js';

/** The indices of the maxima are attached to the result, for the gradient. */
export const maxPool = kernel<MaxPoolInputs, MaxPoolAttrs>(MaxPool, ({ inputs: { x }, attrs, backend }) => {
  let indices: NativeTensor | undefined;
  const result = pooled(backend, x, pool2D(x.shape, attrs), (images, axes) => {
    const maxima = maximaOf(images, axes);
    ({ indices } = maxima);
    return maxima.values;
  });
  if (indices) backend.attach(result, [indices]);
  return result;
});
