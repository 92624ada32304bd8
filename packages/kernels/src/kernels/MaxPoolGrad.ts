import { MaxPoolGrad, type MaxPoolGradAttrs, type MaxPoolGradInputs } from '@tensorflow/tfjs-core';
import { isIdentity, pool2D, poolGradient } from '../families/pool-kernels.js';
import { maxPoolGradient, scatteredToMaxima } from '../families/pooling.js';
import { kernel } from '../kernel.js';

export const maxPoolGrad = kernel<MaxPoolGradInputs, MaxPoolGradAttrs>(
  MaxPoolGrad,
  ({ inputs: { dy, input, output }, attrs, backend }) => {
    const plan = pool2D(input.shape, attrs);
    const isKnown = !isIdentity(plan) && backend.hasAttached(output);
    const indices = isKnown ? backend.attached(output)[0] : undefined;
    return poolGradient(backend, dy, input, plan, (firstDy, x, axes) =>
      indices ? scatteredToMaxima(firstDy, x, indices, axes) : maxPoolGradient(firstDy, x, axes),
    );
  },
);
