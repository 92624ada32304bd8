import {
  backend_util,
  RotateWithOffset,
  type RotateWithOffsetAttrs,
  type RotateWithOffsetInputs,
} from '@tensorflow/tfjs-core';
import { operator, tensorFrom, type Tensor as NativeTensor } from '@acc/native';
import { toDtype, wrapElements } from '../families/conversion.js';
import { countUp } from '../families/count-up.js';
import { lookUp } from '../families/pixel-lookup.js';
import { kernel } from '../kernel.js';

const add = operator('aten::add.Tensor');
const addScalar = operator('aten::add.Scalar');
const castTo = operator('aten::_to_copy');
const multiply = operator('aten::mul.Scalar');

/** The alpha of fill pixels whose colour is given as red, green and blue. */
const OPAQUE = 255;

/**
 * Rotates images `[batch, height, width, channels]` by `radians` around a center given as a
 * fraction of the image, with the nearest pixel for each position.
 */
export const rotateWithOffset = kernel<RotateWithOffsetInputs, RotateWithOffsetAttrs>(
  RotateWithOffset,
  ({ inputs: { image }, attrs: { radians, fillValue, center }, backend }) => {
    const [batch, height, width, channels] = image.shape as [number, number, number, number];
    const [centerX, centerY] = backend_util.getImageCenter(center, height, width);
    const native = backend.native(image);
    using float = image.dtype === 'float32' ? undefined : toDtype(native, 'float32');
    const images = float ?? native;
    using x = fromCenter(centerX, [1, 1, width]);
    using y = fromCenter(centerY, [1, height, 1]);
    using row = rotated(x, Math.sin(radians), y, Math.cos(radians), centerY);
    using column = rotated(x, Math.cos(radians), y, -Math.sin(radians), centerX);
    using number = countUp([batch, 1, 1], 'float64');
    using fill = typeof fillValue === 'number' ? undefined : colour(fillValue, channels, images);
    const found = lookUp(images, { image: number, row, column }, 'nearest', fill ?? (fillValue as number));
    return wrapElements(backend, found, image.dtype);
  },
);

function fromCenter(center: number, shape: readonly number[]): NativeTensor {
  using numbers = countUp(shape, 'float64');
  return addScalar(numbers, -center);
}

/**
 * `x · a + y · b + center`, with each step rounded as in JavaScript: the last bit may decide which
 * pixel is nearest.
 */
function rotated(x: NativeTensor, a: number, y: NativeTensor, b: number, center: number): NativeTensor {
  using alongX = multiply(x, a);
  using alongY = multiply(y, b);
  using sum = add(alongX, alongY);
  return addScalar(sum, center);
}

function colour(values: readonly number[], channels: number, like: NativeTensor): NativeTensor {
  const all = Float32Array.from({ length: channels }, (_, i) => (i === 3 ? OPAQUE : values[i]!));
  using floats = tensorFrom(all, 'float32', [channels]);
  return castTo(floats, like.dtype);
}
