import {
  Dilation2DBackpropInput,
  type Dilation2DAttrs,
  type Dilation2DBackpropInputInputs,
} from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { wrapElements } from '../families/conversion.js';
import { countUp } from '../families/count-up.js';
import { dilationPlan, largestSums, type DilationPlan } from '../families/dilation.js';
import { unpadded } from '../families/sliding-window.js';
import { kernel } from '../kernel.js';

const addInto = operatorInPlace('aten::scatter_add_');
const addScaled = operatorInPlace('aten::add_.Tensor');
const divide = operator('aten::div.Scalar_mode');
const newZeros = operator('aten::new_zeros');
const remainder = operator('aten::remainder.Scalar');
const reshape = operator('aten::reshape');
const scale = operatorInPlace('aten::mul_.Scalar');

/** Adds each value of `dy` to the pixel that was part of the largest sum. */
export const dilation2DBackpropInput = kernel<Dilation2DBackpropInputInputs, Dilation2DAttrs>(
  Dilation2DBackpropInput,
  ({ inputs: { x, filter, dy }, attrs, backend }) => {
    const plan = dilationPlan(x, filter, attrs);
    const [batch, outHeight, outWidth, channels] = plan.outShape;
    const [height, width] = plan.sizes;
    const { values, indices } = largestSums(backend, x, filter, plan);
    values.dispose();
    using places = indices;
    using pixels = pixelsOf(places, plan);
    using index = reshape(pixels, [batch, outHeight * outWidth, channels]);
    using given = reshape(backend.native(dy), [batch, outHeight * outWidth, channels]);
    using sums = newZeros(given, [batch, height * width, channels]);
    addInto(sums, 1, index, given);
    using images = reshape(sums, [batch, height, width, channels]);
    return wrapElements(backend, unpadded(images, plan.pads), x.dtype);
  },
);

/**
 * Converts the index in each window to the index of a pixel of the padded image, row by row. Caller
 * disposes.
 */
function pixelsOf(places: NativeTensor, { outShape, axes, sizes }: DilationPlan): NativeTensor {
  const [, outHeight, outWidth] = outShape;
  const [rows, columns] = axes;
  const [, width] = sizes;
  using row = divide(places, columns.window, 'floor');
  const pixels = remainder(places, columns.window);
  scale(pixels, columns.dilation);
  addScaled(pixels, row, rows.dilation * width);
  using outRow = countUp([1, outHeight, 1, 1], 'int64');
  using outColumn = countUp([1, 1, outWidth, 1], 'int64');
  addScaled(pixels, outRow, rows.stride * width);
  addScaled(pixels, outColumn, columns.stride);
  return pixels;
}
