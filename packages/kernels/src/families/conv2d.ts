import {
  backend_util,
  type Conv2DAttrs,
  type FusedConv2DAttrs,
  type FusedConv2DInputs,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { activated } from './activation.js';
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
import { axes2D, padded } from './sliding-window.js';

const add = operator('aten::add.Tensor');
const reshape = operator('aten::reshape');
const newZeros = operator('aten::new_zeros');

type Shape4D = [number, number, number, number];

/** The attributes of a 2-D convolution that define its windows. */
export interface Conv2DGeometry {
  readonly strides: Conv2DAttrs['strides'];
  readonly pad: Conv2DAttrs['pad'];
  readonly dataFormat?: Conv2DAttrs['dataFormat'] | undefined;
  readonly dilations?: Conv2DAttrs['dilations'] | undefined;
  readonly dimRoundingMode?: Conv2DAttrs['dimRoundingMode'] | undefined;
}

/** A 2-D convolution of tfjs in libtorch's terms. */
interface Plan extends Sliding {
  readonly format: 'NHWC' | 'NCHW';
  readonly outShape: number[];
  /**
   * `[height, width, in / groups, out]`. A depthwise filter `[height, width, in, multiplier]` has
   * the same elements in the same order as a filter of `in` groups, `[height, width, 1, in ·
   * multiplier]`.
   */
  readonly filterShape: Shape4D;
}

function planOf(
  xShape: readonly number[],
  filterShape: readonly number[],
  geometry: Conv2DGeometry,
  depthwise: boolean,
): Plan {
  const format = geometry.dataFormat ?? 'NHWC';
  const info = backend_util.computeConv2DInfo(
    xShape as Shape4D,
    filterShape as Shape4D,
    geometry.strides,
    geometry.dilations ?? 1,
    geometry.pad,
    geometry.dimRoundingMode,
    depthwise,
    backend_util.convertConv2DDataFormat(format),
  );
  const [height, width, channels] = filterShape as Shape4D;
  return {
    ...slidingOf(axes2D(info), depthwise ? channels : 1),
    format,
    outShape: info.outShape,
    filterShape: depthwise ? [height, width, 1, info.outChannels] : (filterShape as Shape4D),
  };
}

const isEmpty = (shape: readonly number[]): boolean => shape.includes(0);

/** Conv2D and DepthwiseConv2dNative, with the bias and activation of the fused kernels. */
export function forward2D(
  backend: AccBackend,
  inputs: FusedConv2DInputs,
  attrs: Conv2DGeometry & Partial<Pick<FusedConv2DAttrs, 'activation' | 'leakyreluAlpha'>>,
  depthwise: boolean,
): TensorInfo {
  const { x, filter, bias, preluActivationWeights } = inputs;
  const plan = planOf(x.shape, filter.shape, attrs, depthwise);
  const convolved = convolved2D(backend, inputs, plan);
  const y = bias && !isConvolvedWith(bias, x, plan) ? plus(backend, convolved, bias, plan) : convolved;
  using alpha = preluActivationWeights && alignedToChannels(backend, preluActivationWeights, plan);
  return backend.wrap(
    activated(y, attrs.activation, { alpha, leakyreluAlpha: attrs.leakyreluAlpha }),
    x.dtype,
  );
}

/**
 * The convolution in tfjs's order of dims, with the bias if it has one number for each channel.
 * Caller disposes.
 */
function convolved2D(backend: AccBackend, { x, filter, bias }: FusedConv2DInputs, plan: Plan): NativeTensor {
  const images = backend.native(x);
  const perChannel = bias && isConvolvedWith(bias, x, plan) ? backend.native(bias) : null;
  if (isEmpty(plan.outShape) || isEmpty(x.shape)) return newZeros(images, plan.outShape);
  using first = channelsFirst(images, plan.format);
  using weight = toWeight(backend.native(filter), plan.filterShape);
  return fromChannelsFirst(convolve(first, weight, perChannel, plan), plan.format);
}

/**
 * Whether libtorch's convolution adds the bias: one number for each channel, and images that are
 * not empty.
 */
const isConvolvedWith = (bias: TensorInfo, x: TensorInfo, { filterShape }: Plan): boolean =>
  bias.shape.length === 1 && bias.shape[0] === filterShape[3] && !isEmpty(x.shape);

function plus(backend: AccBackend, y: NativeTensor, bias: TensorInfo, plan: Plan): NativeTensor {
  using held = y;
  using aligned = alignedToChannels(backend, bias, plan);
  return add(held, aligned);
}

/**
 * With the channels first, reshapes a list of numbers so that it has one for each channel, not for
 * each column. Caller disposes.
 */
function alignedToChannels(backend: AccBackend, list: TensorInfo, { format }: Plan): NativeTensor {
  const native = backend.native(list);
  const isList = list.shape.length === 1 && list.shape[0] !== 1;
  return format === 'NCHW' && isList ? reshape(native, [list.shape[0]!, 1, 1]) : native.alias();
}

/** Conv2DBackpropInput and DepthwiseConv2dNativeBackpropInput. */
export function inputGradient2D(
  backend: AccBackend,
  dy: TensorInfo,
  filter: TensorInfo,
  attrs: Conv2DGeometry & { readonly inputShape: readonly number[] },
  depthwise: boolean,
): TensorInfo {
  const plan = planOf(attrs.inputShape, filter.shape, attrs, depthwise);
  const gradient = backend.native(dy);
  if (isEmpty(dy.shape) || isEmpty(attrs.inputShape)) {
    return backend.wrap(newZeros(gradient, attrs.inputShape), 'float32');
  }
  using full = channelsFirst(gradient, plan.format);
  // tfjs accepts a dy with more pixels than the convolution has windows, and ignores the additional
  // ones.
  const surplus = plan.axes.map(({ outSize }, i) => outSize - full.shape[i + 2]!);
  using part = surplus.some((count) => count !== 0)
    ? padded(
        full,
        surplus.toReversed().flatMap((count) => [0, count]),
      )
    : undefined;
  const first = part ?? full;
  using weight = toWeight(backend.native(filter), plan.filterShape);
  return backend.wrap(fromChannelsFirst(inputGradient(first, weight, plan), plan.format), 'float32');
}

/** Conv2DBackpropFilter and DepthwiseConv2dNativeBackpropFilter. */
export function filterGradient2D(
  backend: AccBackend,
  x: TensorInfo,
  dy: TensorInfo,
  attrs: Conv2DGeometry & { readonly filterShape: readonly number[] },
  depthwise: boolean,
): TensorInfo {
  const plan = planOf(x.shape, attrs.filterShape, attrs, depthwise);
  const gradient = backend.native(dy);
  if (isEmpty(dy.shape)) {
    return backend.wrap(newZeros(gradient, attrs.filterShape), 'float32');
  }
  using firstX = channelsFirst(backend.native(x), plan.format);
  using firstDy = channelsFirst(gradient, plan.format);
  const weight = weightGradient(firstX, firstDy, weightShape(plan.filterShape), plan);
  return backend.wrap(fromWeight(weight, attrs.filterShape), 'float32');
}
