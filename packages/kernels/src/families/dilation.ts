import { backend_util, type Dilation2DAttrs, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { toDtype } from './conversion.js';
import { axes2D, explicitPads, padded, paddedSizes, type WindowAxis } from './sliding-window.js';

const add = operator('aten::add.Tensor');
const asStrided = operator('aten::as_strided');
const contiguous = operator('aten::contiguous');
const maxAlong = operatorWithResults('aten::max.dim');
const reshape = operator('aten::reshape');

type Shape4D = [number, number, number, number];
type Shape3D = [number, number, number];

/**
 * A greyscale dilation of images `[batch, height, width, channels]` by a filter `[filterHeight,
 * filterWidth, channels]`.
 */
export interface DilationPlan {
  readonly outShape: Shape4D;
  /** Height and width. */
  readonly axes: readonly [WindowAxis, WindowAxis];
  /** The padding of the images, as `aten::constant_pad_nd` expects it. */
  readonly pads: readonly number[];
  /** Height and width with the padding. */
  readonly sizes: readonly [number, number];
}

export function dilationPlan(x: TensorInfo, filter: TensorInfo, attrs: Dilation2DAttrs): DilationPlan {
  const { strides, pad, dilations } = attrs;
  const info = backend_util.computeDilation2DInfo(
    x.shape as Shape4D,
    filter.shape as Shape3D,
    strides,
    pad,
    'NHWC',
    dilations,
  );
  const axes = axes2D(info) as [WindowAxis, WindowAxis];
  return {
    outShape: info.outShape,
    axes,
    pads: [0, 0, ...explicitPads(axes)],
    sizes: paddedSizes(axes) as [number, number],
  };
}

/**
 * In each window, the largest sum of a pixel and the filter's value at its position, and the index
 * of this pixel in the window (int64, row by row, the first of equal ones): `[batch, outHeight,
 * outWidth, channels]`. Pixels outside the image are ignored. Caller disposes.
 */
export function largestSums(
  backend: AccBackend,
  x: TensorInfo,
  filter: TensorInfo,
  { outShape, axes, pads, sizes }: DilationPlan,
): { values: NativeTensor; indices: NativeTensor } {
  const [rows, columns] = axes;
  const [batch, outHeight, outWidth, channels] = outShape;
  const [height, width] = sizes;
  using images = floating(backend, x);
  using heights = floating(backend, filter);
  using wide = padded(images, pads, -Infinity);
  using flat = contiguous(wide);
  using windows = asStrided(
    flat,
    [batch, outHeight, outWidth, rows.window, columns.window, channels],
    [
      height * width * channels,
      rows.stride * width * channels,
      columns.stride * channels,
      rows.dilation * width * channels,
      columns.dilation * channels,
      1,
    ],
  );
  using sums = add(windows, heights);
  using lists = reshape(sums, [batch, outHeight, outWidth, rows.window * columns.window, channels]);
  const [values, indices] = maxAlong(lists, 3) as [NativeTensor, NativeTensor];
  return { values, indices };
}

function floating(backend: AccBackend, x: TensorInfo): NativeTensor {
  return x.dtype === 'float32' ? backend.native(x).alias() : toDtype(backend.native(x), 'float64');
}
