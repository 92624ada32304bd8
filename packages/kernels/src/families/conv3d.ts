import { backend_util, type Conv3DAttrs, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { toDtype, wrapElements } from './conversion.js';
import {
  convolve,
  fromWeight,
  inputGradient,
  slidingOf,
  toWeight,
  weightGradient,
  weightShape,
  type Sliding,
} from './convolution.js';
import { channelsFirst, fromChannelsFirst } from './images.js';
import { axes3D } from './sliding-window.js';

const newZeros = operator('aten::new_zeros');

/** tfjs supports 3-D convolutions only with the channels last. */
const FORMAT = 'NDHWC';

type Shape5D = [number, number, number, number, number];

/** The attributes of a 3-D convolution that define its windows. */
interface Conv3DGeometry {
  readonly strides: Conv3DAttrs['strides'];
  readonly pad: Conv3DAttrs['pad'];
  readonly dilations?: Conv3DAttrs['dilations'];
}

interface Plan extends Sliding {
  readonly outShape: number[];
}

function planOf(xShape: readonly number[], filterShape: readonly number[], geometry: Conv3DGeometry): Plan {
  const info = backend_util.computeConv3DInfo(
    xShape as Shape5D,
    filterShape as Shape5D,
    geometry.strides,
    geometry.dilations ?? 1,
    geometry.pad,
  );
  return { ...slidingOf(axes3D(info), 1), outShape: info.outShape };
}

/**
 * Converts integers to float64, in which they stay exact: libtorch convolves only floating tensors.
 * Caller disposes.
 */
function floating({ native, dtype }: { native: NativeTensor; dtype: TensorInfo['dtype'] }): NativeTensor {
  return dtype === 'int32' || dtype === 'bool' ? toDtype(native, 'float64') : native.alias();
}

/** Conv3D. */
export function forward3D(
  backend: AccBackend,
  x: TensorInfo,
  filter: TensorInfo,
  attrs: Conv3DGeometry,
): TensorInfo {
  const plan = planOf(x.shape, filter.shape, attrs);
  if (plan.outShape.includes(0)) return backend.wrap(newZeros(backend.native(x), plan.outShape), x.dtype);
  using images = floating({ native: backend.native(x), dtype: x.dtype });
  using kernels = floating({ native: backend.native(filter), dtype: filter.dtype });
  using first = channelsFirst(images, FORMAT);
  using weight = toWeight(kernels, filter.shape);
  return wrapElements(backend, fromChannelsFirst(convolve(first, weight, null, plan), FORMAT), x.dtype);
}

/** Conv3DBackpropInputV2. */
export function inputGradient3D(
  backend: AccBackend,
  dy: TensorInfo,
  filter: TensorInfo,
  attrs: Conv3DGeometry & { readonly inputShape: readonly number[] },
): TensorInfo {
  const plan = planOf(attrs.inputShape, filter.shape, attrs);
  const gradient = backend.native(dy);
  if (dy.shape.includes(0)) return backend.wrap(newZeros(gradient, attrs.inputShape), 'float32');
  using first = channelsFirst(gradient, FORMAT);
  using weight = toWeight(backend.native(filter), filter.shape);
  return backend.wrap(fromChannelsFirst(inputGradient(first, weight, plan), FORMAT), 'float32');
}

/** Conv3DBackpropFilterV2. */
export function filterGradient3D(
  backend: AccBackend,
  x: TensorInfo,
  dy: TensorInfo,
  attrs: Conv3DGeometry & { readonly filterShape: readonly number[] },
): TensorInfo {
  const plan = planOf(x.shape, attrs.filterShape, attrs);
  const gradient = backend.native(dy);
  if (dy.shape.includes(0)) return backend.wrap(newZeros(gradient, attrs.filterShape), 'float32');
  using firstX = channelsFirst(backend.native(x), FORMAT);
  using firstDy = channelsFirst(gradient, FORMAT);
  const weight = weightGradient(firstX, firstDy, weightShape(attrs.filterShape), plan);
  return backend.wrap(fromWeight(weight, attrs.filterShape), 'float32');
}
