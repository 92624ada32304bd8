import { Real, type RealInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { kernel } from '../kernel.js';

const realPart = operator('aten::real');

/** Returns a view. */
export const real = kernel<RealInputs>(Real, ({ inputs: { input }, backend }) =>
  backend.wrap(realPart(backend.native(input)), 'float32'),
);
