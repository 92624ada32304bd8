import {
  MaxPoolWithArgmax,
  type MaxPoolWithArgmaxAttrs,
  type MaxPoolWithArgmaxInputs,
} from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { wrapElements } from '../families/conversion.js';
import { countUp } from '../families/count-up.js';
import { fromChannelsFirst } from '../families/images.js';
import { floatingImages, pool2D } from '../families/pool-kernels.js';
import { maxPool, type Maxima } from '../families/pooling.js';
import { kernel } from '../kernel.js';

const divideScalar = operator('aten::div.Scalar_mode');
const remainder = operator('aten::remainder.Scalar');
const multiplyScalar = operator('aten::mul.Scalar');
const subtractScalar = operatorInPlace('aten::sub_.Scalar');
const addScaled = operatorInPlace('aten::add_.Tensor');

/**
 * The maxima, and their indices in the flattened images `[height, width, channels]`, or with the
 * batch in front.
 */
export const maxPoolWithArgmax = kernel<MaxPoolWithArgmaxInputs, MaxPoolWithArgmaxAttrs>(
  MaxPoolWithArgmax,
  ({ inputs: { x }, attrs, backend }) => {
    const { axes, format } = pool2D(x.shape, attrs);
    using images = floatingImages(backend.native(x), x, format);
    const maxima = maxPool(images, axes);
    using indices = maxima.indices;
    using spots = spotsInImage(indices, x.shape, maxima.pads);
    const positions = flatPositions(spots, x.shape, attrs.includeBatchInIndex);
    return [
      wrapElements(backend, fromChannelsFirst(maxima.values, format), x.dtype),
      backend.wrap(fromChannelsFirst(positions, format), 'int32'),
    ];
  },
);

/** `y · width + x` in the images without padding. Caller disposes. */
function spotsInImage(
  indices: NativeTensor,
  [, , width]: readonly number[],
  pads: Maxima['pads'],
): NativeTensor {
  if (!pads) return indices.alias();
  const [left, right, top] = pads as [number, number, number, number];
  const paddedWidth = left + width! + right;
  using rows = divideScalar(indices, paddedWidth, 'floor');
  subtractScalar(rows, top);
  const spots = remainder(indices, paddedWidth);
  addScaled(spots, rows, width!);
  subtractScalar(spots, left);
  return spots;
}

/**
 * `spots · channels + channel`, plus the offset of the image in the batch if requested. Caller
 * disposes.
 */
function flatPositions(
  spots: NativeTensor,
  [batch, height, width, channels]: readonly number[],
  includeBatch: boolean,
): NativeTensor {
  const positions = multiplyScalar(spots, channels!);
  using channel = countUp([1, channels!, 1, 1], 'int32');
  addScaled(positions, channel);
  if (includeBatch) {
    using image = countUp([batch!, 1, 1, 1], 'int32');
    addScaled(positions, image, height! * width! * channels!);
  }
  return positions;
}
