import { Dilation2D, type Dilation2DAttrs, type Dilation2DInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { wrapElements } from '../families/conversion.js';
import { dilationPlan, largestSums } from '../families/dilation.js';
import { kernel } from '../kernel.js';

const atLeast = operator('aten::clamp_min');

/** As in tfjs, a window without pixels has the least safe integer. */
export const dilation2D = kernel<Dilation2DInputs, Dilation2DAttrs>(
  Dilation2D,
  ({ inputs: { x, filter }, attrs, backend }) => {
    const { values, indices } = largestSums(backend, x, filter, dilationPlan(x, filter, attrs));
    indices.dispose();
    using held = values;
    return wrapElements(backend, atLeast(held, Number.MIN_SAFE_INTEGER), x.dtype);
  },
);
