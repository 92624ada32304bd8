import { backend_util, type TensorInfo } from '@tensorflow/tfjs-core';
import { areCounts, areSteps, isCount, type Attrs } from './numbers.js';

type Inputs = Readonly<Record<string, TensorInfo>>;
type Shape4D = [number, number, number, number];
type Shape5D = [number, number, number, number, number];

/** Whether a padding is a negative number or has a fraction. */
export const isOddPadding = (pad: unknown): boolean => typeof pad === 'number' && !isCount(pad);

/** Whether strides, dilations or padding of images with `rank` dims are not those of a convolution. */
export const isOddConvolution =
  (rank: 4 | 5) =>
  (_inputs: Inputs, { strides, dilations, pad }: Attrs): boolean =>
    !areSteps(strides, rank - 2) || !areSteps(dilations ?? 1, rank - 2) || isOddPadding(pad);

/**
 * Also odd if a convolution of images of `inputShape` gives more pixels than `dy` has, or another
 * batch. tfjs ignores additional pixels of `dy`.
 */
export function isOddTransposed2D(inputs: Inputs, attrs: Attrs): boolean {
  if (isOddConvolution(4)(inputs, attrs) || !areCounts(attrs['inputShape'])) return true;
  const { inputShape, strides, pad, dimRoundingMode, dataFormat } = attrs as {
    inputShape: Shape4D;
    strides: number;
    pad: 'same';
    dimRoundingMode: 'floor';
    dataFormat?: 'NHWC';
  };
  if (inputShape.includes(0)) return false;
  const { outShape } = backend_util.computeConv2DInfo(
    inputShape,
    inputs['filter']!.shape as Shape4D,
    strides,
    1,
    pad,
    dimRoundingMode,
    false,
    backend_util.convertConv2DDataFormat(dataFormat ?? 'NHWC'),
  );
  const { shape } = inputs['dy']!;
  return outShape[0] !== shape[0] || outShape.some((size, dim) => size < 1 || size > shape[dim]!);
}

/** Also odd if a convolution of volumes of `inputShape` does not give the shape of `dy`. */
export function isOddTransposed3D(inputs: Inputs, attrs: Attrs): boolean {
  if (isOddConvolution(5)(inputs, attrs) || !areCounts(attrs['inputShape'], 1)) return true;
  const { inputShape, strides, pad } = attrs as { inputShape: Shape5D; strides: number; pad: 'same' };
  const filterShape = inputs['filter']!.shape as Shape5D;
  const { outShape } = backend_util.computeConv3DInfo(inputShape, filterShape, strides, 1, pad);
  return outShape.some((size, dim) => size !== inputs['dy']!.shape[dim]);
}
