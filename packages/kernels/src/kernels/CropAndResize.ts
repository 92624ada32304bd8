import { CropAndResize, type CropAndResizeAttrs, type CropAndResizeInputs } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { toDtype } from '../families/conversion.js';
import { countUp } from '../families/count-up.js';
import { lookUp } from '../families/pixel-lookup.js';
import { kernel } from '../kernel.js';

const add = operator('aten::add.Tensor');
const and = operator('aten::logical_and');
const atLeast = operator('aten::ge.Scalar');
const castTo = operator('aten::_to_copy');
const choose = operator('aten::where.ScalarOther');
const chooseOther = operator('aten::where.ScalarSelf');
const clamp = operator('aten::clamp');
const divide = operator('aten::div.Scalar');
const equal = operator('aten::eq.Tensor');
const greater = operator('aten::gt.Scalar');
const less = operator('aten::lt.Scalar');
const multiply = operator('aten::mul.Tensor');
const multiplyScalar = operator('aten::mul.Scalar');
const or = operator('aten::logical_or');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');
const subtract = operator('aten::sub.Tensor');

/**
 * The result is float32 for every dtype of the images. As in tfjs's cpu backend, a box of an image
 * beyond the last gives 0. A box of an image before the first, and a corner that is NaN, give NaN.
 */
export const cropAndResize = kernel<CropAndResizeInputs, CropAndResizeAttrs>(
  CropAndResize,
  ({ inputs: { image, boxes, boxInd }, attrs: { cropSize, method, extrapolationValue }, backend }) => {
    const native = backend.native(image);
    using float = image.dtype === 'float32' ? undefined : toDtype(native, 'float32');
    const images = float ?? native;
    const [batch, height, width] = image.shape as [number, number, number];
    const count = boxes.shape[0]!;
    using corners = castTo(backend.native(boxes), 'float64');
    using row = positions(corners, 0, height, [count, cropSize[0], 1]);
    using column = positions(corners, 1, width, [count, 1, cropSize[1]]);
    using given = reshape(backend.native(boxInd), [count, 1, 1]);
    using known = clamp(given, 0, batch - 1);
    using pixels = lookUp(images, { image: known, row, column }, method);
    using isRead = areReadable(given, row, column);
    using found = choose(isRead, pixels, NaN);
    using isOutside = areOutside(row, height, column, width);
    using filled = chooseOther(isOutside, extrapolationValue, found);
    using isThere = less(given, batch);
    using condition = reshape(isThere, [count, 1, 1, 1]);
    return backend.wrap(choose(condition, filled, 0), 'float32');
  },
);

/**
 * The rows (axis 0) or columns (axis 1) that the boxes' pixels are read from, float64, in shape
 * `shape`. `size` is the number of rows or columns of the image. Boxes `[count, 4]` are (y1, x1,
 * y2, x2), as fractions of the image. Caller disposes.
 */
function positions(
  boxes: NativeTensor,
  axis: 0 | 1,
  size: number,
  shape: readonly [number, number, number],
): NativeTensor {
  const [count] = shape;
  const cropped = shape[1 + axis]!;
  using first = select(boxes, 1, axis);
  using last = select(boxes, 1, axis + 2);
  using start = reshape(first, [count, 1, 1]);
  using end = reshape(last, [count, 1, 1]);
  if (cropped <= 1) {
    using sum = add(start, end);
    using middle = multiplyScalar(sum, 0.5);
    return multiplyScalar(middle, size - 1);
  }
  using length = subtract(end, start);
  using scaledLength = multiplyScalar(length, size - 1);
  using step = divide(scaledLength, cropped - 1);
  using steps = countUp([1, ...shape.slice(1)], 'float64');
  using offset = multiply(steps, step);
  using origin = multiplyScalar(start, size - 1);
  return add(origin, offset);
}

/** Whether the image and the pixel exist: `[count, height, width, 1]`. Caller disposes. */
function areReadable(image: NativeTensor, row: NativeTensor, column: NativeTensor): NativeTensor {
  using isImage = atLeast(image, 0);
  using isRow = equal(row, row);
  using isColumn = equal(column, column);
  using isPixel = and(isRow, isColumn);
  using both = and(isPixel, isImage);
  return reshape(both, [...both.shape, 1]);
}

/**
 * Whether rows or columns are outside the image: `[count, height, width, 1]`. As in tfjs, NaN is
 * not. Caller disposes.
 */
function areOutside(row: NativeTensor, height: number, column: NativeTensor, width: number): NativeTensor {
  using isAbove = less(row, 0);
  using isBelow = greater(row, height - 1);
  using isLeft = less(column, 0);
  using isRight = greater(column, width - 1);
  using isRow = or(isAbove, isBelow);
  using isColumn = or(isLeft, isRight);
  using either = or(isRow, isColumn);
  return reshape(either, [...either.shape, 1]);
}
