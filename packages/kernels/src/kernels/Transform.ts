import { Transform, type TransformAttrs, type TransformInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { toDtype, wrapElements } from '../families/conversion.js';
import { countUp } from '../families/count-up.js';
import { insideBy } from '../families/fill-modes.js';
import { lookUp, OUTSIDE } from '../families/pixel-lookup.js';
import { kernel } from '../kernel.js';

const add = operator('aten::add.Tensor');
const addScalar = operator('aten::add.Scalar');
const castTo = operator('aten::_to_copy');
const divide = operator('aten::div.Tensor');
const equal = operator('aten::eq.Scalar');
const fillWhere = operatorInPlace('aten::masked_fill_.Scalar');
const multiply = operator('aten::mul.Tensor');
const reshape = operator('aten::reshape');
const select = operator('aten::select.int');

/**
 * Transforms images `[batch, height, width, channels]`. The pixel (x, y) of the result is read from
 * position ((a·x + b·y + c) / k, (d·x + e·y + f) / k) with k = g·x + h·y + 1. `transforms` holds
 * the eight numbers a to h, for each image or once for all.
 */
export const transform = kernel<TransformInputs, TransformAttrs>(
  Transform,
  ({ inputs: { image, transforms }, attrs, backend }) => {
    const { interpolation, fillMode, fillValue, outputShape } = attrs;
    const [batch, height, width] = image.shape as [number, number, number];
    const [outHeight, outWidth] = outputShape ?? [height, width];
    const native = backend.native(image);
    using float = image.dtype === 'float32' ? undefined : toDtype(native, 'float32');
    using factors = castTo(backend.native(transforms), 'float64');
    using x = countUp([1, 1, outWidth], 'float64');
    using y = countUp([1, outHeight, 1], 'float64');
    using scale = projected(factors, [6, 7], x, y);
    using isInfinite = equal(scale, 0);
    const position = (places: readonly number[], size: number): NativeTensor => {
      using direct = projected(factors, places, x, y);
      using seen = divide(direct, scale);
      const inside = insideBy(fillMode, seen, size);
      fillWhere(inside, isInfinite, OUTSIDE);
      return inside;
    };
    using row = position([3, 4, 5], height);
    using column = position([0, 1, 2], width);
    using number = countUp([batch, 1, 1], 'float64');
    const found = lookUp(float ?? native, { image: number, row, column }, interpolation, fillValue);
    return wrapElements(backend, found, image.dtype);
  },
);

/**
 * The values `p·x + q·y + r` with the factors in columns p, q and r; r is 1 if only two columns are
 * given. Caller disposes.
 */
function projected(
  factors: NativeTensor,
  [p, q, r]: readonly number[],
  x: NativeTensor,
  y: NativeTensor,
): NativeTensor {
  const factor = (place: number): NativeTensor => {
    using column = select(factors, 1, place);
    return reshape(column, [-1, 1, 1]);
  };
  using forX = factor(p!);
  using forY = factor(q!);
  using alongX = multiply(forX, x);
  using alongY = multiply(forY, y);
  using sum = add(alongX, alongY);
  if (r === undefined) return addScalar(sum, 1);
  using offset = factor(r);
  return add(sum, offset);
}
