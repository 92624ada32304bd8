import { Identity, type IdentityInputs } from '@tensorflow/tfjs-core';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

export const identity = kernel<IdentityInputs>(Identity, ({ inputs: { x }, backend }) =>
  sameData(backend, x),
);
