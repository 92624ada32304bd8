import { FusedConv2D, type FusedConv2DAttrs, type FusedConv2DInputs } from '@tensorflow/tfjs-core';
import { isLinear } from '../families/activation.js';
import { forward2D } from '../families/conv2d.js';
import { resultWithoutValues } from '../gradients/saved-shapes.js';
import { kernel } from '../kernel.js';

export const fusedConv2D = kernel<FusedConv2DInputs, FusedConv2DAttrs>(
  FusedConv2D,
  ({ inputs, attrs, backend }) => {
    const result = forward2D(backend, inputs, attrs, false);
    return isLinear(attrs.activation) ? resultWithoutValues(result) : result;
  },
);
