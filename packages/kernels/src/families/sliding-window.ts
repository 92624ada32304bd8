import type { backend_util } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';

type Conv2DInfo = ReturnType<typeof backend_util.computeConv2DInfo>;
type Conv3DInfo = ReturnType<typeof backend_util.computeConv3DInfo>;

const pad = operator('aten::constant_pad_nd');

/** The windows along one spatial dim, in elements. */
export interface WindowAxis {
  readonly size: number;
  readonly outSize: number;
  readonly window: number;
  readonly stride: number;
  readonly dilation: number;
  /**
   * Padding before the first element. tfjs's 3-D `same` can make it negative, which cuts elements
   * off.
   */
  readonly before: number;
}

/** The axes of height and width, from tfjs's description of a convolution or pooling. */
export function axes2D(info: Conv2DInfo | Conv3DInfo): WindowAxis[] {
  return [
    {
      size: info.inHeight,
      outSize: info.outHeight,
      window: info.filterHeight,
      stride: info.strideHeight,
      dilation: info.dilationHeight,
      before: info.padInfo.top,
    },
    {
      size: info.inWidth,
      outSize: info.outWidth,
      window: info.filterWidth,
      stride: info.strideWidth,
      dilation: info.dilationWidth,
      before: info.padInfo.left,
    },
  ];
}

/** The axes of depth, height and width, from tfjs's description of a convolution or pooling. */
export function axes3D(info: Conv3DInfo): WindowAxis[] {
  const depth = {
    size: info.inDepth,
    outSize: info.outDepth,
    window: info.filterDepth,
    stride: info.strideDepth,
    dilation: info.dilationDepth,
    before: info.padInfo.front,
  };
  return [depth, ...axes2D(info)];
}

/** The number of elements from the first to the last of a window. */
export function span({ window, dilation }: WindowAxis): number {
  return (window - 1) * dilation + 1;
}

/**
 * The padding that the last window needs after the last element; negative if elements are left
 * over.
 */
export function after(axis: WindowAxis): number {
  return (axis.outSize - 1) * axis.stride + span(axis) - axis.size - axis.before;
}

/**
 * Whether libtorch, which pads both ends equally, gives `outSize` windows. Excludes axes with
 * windows that hold only padding: oneDNN can read beyond its input for those (its report
 * "Convolution segfaults in a corner case").
 */
export function isSymmetric(axis: WindowAxis): boolean {
  const { size, outSize, stride, before } = axis;
  if (before < 0 || before >= span(axis)) return false;
  return Math.floor((size + 2 * before - span(axis)) / stride) + 1 === outSize;
}

/**
 * The padding for {@link padded} with which the windows fill the image exactly; negative values cut
 * elements off. In libtorch's order, from the last dim.
 */
export function explicitPads(axes: readonly WindowAxis[]): number[] {
  return axes.toReversed().flatMap((axis) => [axis.before, after(axis)]);
}

/** Pads the last dims of `x`; negative padding cuts elements off. Caller disposes. */
export function padded(x: NativeTensor, pads: readonly number[], value = 0): NativeTensor {
  if (pads.every((count) => count >= 0)) return pad(x, pads, value);
  // First pads, then cuts: if windows hold only padding, more may be cut off than `x` has.
  using grown = pad(
    x,
    pads.map((count) => Math.max(count, 0)),
    value,
  );
  return pad(
    grown,
    pads.map((count) => Math.min(count, 0)),
  );
}

/**
 * Undoes {@link padded} for a gradient: cuts off added elements, and gives 0 to those cut off.
 * Caller disposes.
 */
export function unpadded(gradient: NativeTensor, pads: readonly number[]): NativeTensor {
  return padded(
    gradient,
    pads.map((count) => -count),
  );
}

/** Sizes of the spatial dims after padding by {@link explicitPads}. */
export function paddedSizes(axes: readonly WindowAxis[]): number[] {
  return axes.map((axis) => (axis.outSize - 1) * axis.stride + span(axis));
}
