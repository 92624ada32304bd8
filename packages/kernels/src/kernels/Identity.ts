import { Identity, type IdentityInputs } from '@tensorflow/tfjs-core';
import { kernel } from '../kernel.js';

export const identity = kernel<IdentityInputs>(Identity, ({ inputs: { x }, backend }) => {
  backend.incRef(x.dataId);
  return { dataId: x.dataId, shape: x.shape, dtype: x.dtype };
});
