import { Dilation2D, type Dilation2DAttrs, type Dilation2DInputs } from '@tensorflow/tfjs-core';
import { wrapElements } from '../families/conversion.js';
import { dilationPlan, largestSums } from '../families/dilation.js';
import { kernel } from '../kernel.js';

export const dilation2D = kernel<Dilation2DInputs, Dilation2DAttrs>(
  Dilation2D,
  ({ inputs: { x, filter }, attrs, backend }) => {
    const { values, indices } = largestSums(backend, x, filter, dilationPlan(x, filter, attrs));
    indices.dispose();
    return wrapElements(backend, values, x.dtype);
  },
);
