import { backend_util, type AvgPool3DAttrs, type AvgPoolAttrs, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { toDtype, wrapElements } from './conversion.js';
import { channelsFirst, fromChannelsFirst, type ImageFormat } from './images.js';
import { sameData } from './same-data.js';
import { axes2D, axes3D, type WindowAxis } from './sliding-window.js';

const newZeros = operator('aten::new_zeros');

type Shape4D = [number, number, number, number];
type Shape5D = [number, number, number, number, number];

/**
 * The attributes that define the windows over 2-D images. tfjs pools them only with the channels
 * last.
 */
export type Pool2DGeometry = Pick<AvgPoolAttrs, 'filterSize' | 'strides' | 'pad' | 'dimRoundingMode'>;

/** The same for 3-D images. */
export type Pool3DGeometry = Pick<AvgPool3DAttrs, 'filterSize' | 'strides' | 'pad' | 'dimRoundingMode'> &
  Partial<Pick<AvgPool3DAttrs, 'dataFormat'>>;

/** A pooling of tfjs in libtorch's terms. */
export interface PoolPlan {
  readonly axes: readonly WindowAxis[];
  readonly format: ImageFormat;
  readonly outShape: number[];
}

export function pool2D(xShape: readonly number[], attrs: Pool2DGeometry): PoolPlan {
  const { filterSize, strides, pad, dimRoundingMode } = attrs;
  const info = backend_util.computePool2DInfo(
    xShape as Shape4D,
    filterSize,
    strides,
    1,
    pad,
    dimRoundingMode,
  );
  return { axes: axes2D(info), format: 'NHWC', outShape: info.outShape };
}

export function pool3D(xShape: readonly number[], attrs: Pool3DGeometry): PoolPlan {
  const { filterSize, strides, pad, dimRoundingMode, dataFormat = 'NDHWC' } = attrs;
  const info = backend_util.computePool3DInfo(
    xShape as Shape5D,
    filterSize,
    strides,
    1,
    pad,
    dimRoundingMode,
    dataFormat,
  );
  return { axes: axes3D(info), format: dataFormat, outShape: info.outShape };
}

/**
 * Whether each window is one element and the windows cover every element. The result then shares
 * the input's data.
 */
export function isIdentity({ axes }: PoolPlan): boolean {
  return axes.length === 2 && axes.every(({ window, size, outSize }) => window === 1 && size === outSize);
}

/**
 * Pools images. `compute` takes and returns images with the channels first. As in tfjs, 2-D pooling
 * keeps the dtype and 3-D pooling returns float32.
 */
export function pooled(
  backend: AccBackend,
  x: TensorInfo,
  plan: PoolPlan,
  compute: (images: NativeTensor, axes: readonly WindowAxis[]) => NativeTensor,
): TensorInfo {
  const { axes, format, outShape } = plan;
  const dtype = axes.length === 2 ? x.dtype : 'float32';
  if (isIdentity(plan)) return sameData(backend, x);
  const native = backend.native(x);
  if (outShape.includes(0)) return backend.wrap(newZeros(native, outShape), dtype);
  using images = floatingImages(native, x, format);
  return wrapElements(backend, fromChannelsFirst(compute(images, axes), format), dtype);
}

/**
 * `x` with the channels first. Integers become float64, which holds them exactly, because libtorch
 * pools only floats. Caller disposes.
 */
export function floatingImages(native: NativeTensor, x: TensorInfo, format: ImageFormat): NativeTensor {
  if (x.dtype === 'float32') return channelsFirst(native, format);
  using float = toDtype(native, 'float64');
  return channelsFirst(float, format);
}

/** The gradient of a pooling. `compute` takes `dy` and `x` and returns the gradient of `x`. */
export function poolGradient(
  backend: AccBackend,
  dy: TensorInfo,
  x: TensorInfo,
  plan: PoolPlan,
  compute: (dy: NativeTensor, x: NativeTensor, axes: readonly WindowAxis[]) => NativeTensor,
): TensorInfo {
  const native = backend.native(dy);
  if (dy.shape.includes(0)) return backend.wrap(newZeros(native, x.shape), 'float32');
  const images = backend.native(x);
  // libtorch needs dy in the dtype of x, if x is floating.
  using given =
    x.dtype === 'float32' && native.dtype !== images.dtype ? toDtype(native, images.dtype) : undefined;
  using firstDy = channelsFirst(given ?? native, plan.format);
  using firstX = channelsFirst(images, plan.format);
  // tfjs's gradients do not pass the rounding of sizes, so the number of windows comes from dy.
  const axes = plan.axes.map((axis, i) => ({ ...axis, outSize: firstDy.shape[i + 2]! }));
  return backend.wrap(fromChannelsFirst(compute(firstDy, firstX, axes), plan.format), 'float32');
}
