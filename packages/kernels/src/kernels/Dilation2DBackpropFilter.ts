import {
  Dilation2DBackpropFilter,
  type Dilation2DAttrs,
  type Dilation2DBackpropFilterInputs,
} from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import { wrapElements } from '../families/conversion.js';
import { dilationPlan, largestSums } from '../families/dilation.js';
import { kernel } from '../kernel.js';

const newZeros = operator('aten::new_zeros');
const reshape = operator('aten::reshape');
const addInto = operatorInPlace('aten::scatter_add_');

/** Adds each value of `dy` to the filter element that was part of the largest sum. */
export const dilation2DBackpropFilter = kernel<Dilation2DBackpropFilterInputs, Dilation2DAttrs>(
  Dilation2DBackpropFilter,
  ({ inputs: { x, filter, dy }, attrs, backend }) => {
    const [height, width, channels] = filter.shape as [number, number, number];
    const { values, indices } = largestSums(backend, x, filter, dilationPlan(x, filter, attrs));
    values.dispose();
    using places = indices;
    using index = reshape(places, [-1, channels]);
    using given = reshape(backend.native(dy), [-1, channels]);
    using sums = newZeros(given, [height * width, channels]);
    addInto(sums, 0, index, given);
    return wrapElements(backend, reshape(sums, filter.shape), filter.dtype);
  },
);
