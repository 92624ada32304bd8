import { operator, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { channelsLastStrides, shapeOnly } from './images.js';
import {
  explicitPads,
  isSymmetric,
  padded,
  paddedSizes,
  span,
  unpadded,
  type WindowAxis,
} from './sliding-window.js';

// Every convolution of the backend passes through the three functions of this file, on `[batch, channels, ...spatial]`
// and weights `[out, in / groups, ...window]`: a choice between libtorch's ways to compute one belongs here.

const convolution = operator('aten::convolution');
const convolutionBackward = operatorWithResults('aten::convolution_backward');
const reshape = operator('aten::reshape');
const transpose = operator('aten::t');
const permute = operator('aten::permute');
const contiguous = operator('aten::contiguous');
const asStrided = operator('aten::as_strided');

/** How a convolution slides over its images. */
export interface Sliding {
  readonly axes: readonly WindowAxis[];
  readonly groups: number;
}

const strides = (axes: readonly WindowAxis[]): number[] => axes.map(({ stride }) => stride);
const dilations = (axes: readonly WindowAxis[]): number[] => axes.map(({ dilation }) => dilation);
const befores = (axes: readonly WindowAxis[]): number[] => axes.map(({ before }) => before);
const zeros = (axes: readonly WindowAxis[]): number[] => axes.map(() => 0);

/** `[batch, out, ...outSizes]`; `bias` is `[out]` or null. Caller disposes. */
export function convolve(
  x: NativeTensor,
  weight: NativeTensor,
  bias: NativeTensor | null,
  { axes, groups }: Sliding,
): NativeTensor {
  const run = (images: NativeTensor, padding: number[]) =>
    convolution(images, weight, bias, strides(axes), padding, dilations(axes), false, zeros(axes), groups);
  if (axes.every(isSymmetric)) return run(x, befores(axes));
  using images = padded(x, explicitPads(axes));
  return run(images, zeros(axes));
}

/** The gradient with respect to the images, `[batch, in, ...sizes]`. Caller disposes. */
export function inputGradient(
  dy: NativeTensor,
  weight: NativeTensor,
  { axes, groups }: Sliding,
): NativeTensor {
  // As a transposed convolution, which takes no image: as fast as convolution_backward, which does.
  const run = (sizes: number[], padding: number[]) => {
    const rest = axes.map(
      (axis, i) => sizes[i]! + 2 * padding[i]! - span(axis) - (axis.outSize - 1) * axis.stride,
    );
    return convolution(dy, weight, null, strides(axes), padding, dilations(axes), true, rest, groups);
  };
  if (axes.every(isSymmetric)) {
    return run(
      axes.map(({ size }) => size),
      befores(axes),
    );
  }
  using whole = run(paddedSizes(axes), zeros(axes));
  return unpadded(whole, explicitPads(axes));
}

/** The gradient with respect to a weight of `shape`. Caller disposes. */
export function weightGradient(
  x: NativeTensor,
  dy: NativeTensor,
  shape: readonly number[],
  { axes, groups }: Sliding,
): NativeTensor {
  // A real weight would be converted to channels-last for nothing, which can take longer than the gradient.
  using weight = shapeOnly(dy, shape);
  const run = (images: NativeTensor, padding: number[]) => {
    const results = convolutionBackward(
      dy,
      images,
      weight,
      null,
      strides(axes),
      padding,
      dilations(axes),
      false,
      zeros(axes),
      groups,
      [false, true, false],
    );
    return results[1] as NativeTensor;
  };
  if (axes.every(isSymmetric)) return run(x, befores(axes));
  using images = padded(x, explicitPads(axes));
  return run(images, zeros(axes));
}

/**
 * A tfjs filter `[...window, in, out]` as a weight `[out, in, ...window]`, channels-last. libtorch would do that by
 * itself, element by element; as the transposition of a matrix it takes an eighth of the time. Caller disposes.
 */
export function toWeight(filter: NativeTensor, shape: readonly number[]): NativeTensor {
  const weight = weightShape(shape);
  const out = weight[0]!;
  using rows = reshape(filter, [product(weight) / out, out]);
  using columns = transpose(rows);
  using flat = contiguous(columns);
  return asStrided(flat, weight, channelsLastStrides(weight));
}

/** The way back from {@link toWeight}, row-major; takes `weight` over. Caller disposes. */
export function fromWeight(weight: NativeTensor, shape: readonly number[]): NativeTensor {
  using held = weight;
  const out = held.shape[0]!;
  const channelsLast = held.shape.map((_, dim) =>
    dim === 0 ? 0 : dim === held.shape.length - 1 ? 1 : dim + 1,
  );
  using turned = permute(held, channelsLast);
  using columns = reshape(turned, [out, product(held.shape) / out]);
  using rows = transpose(columns);
  using flat = contiguous(rows);
  return reshape(flat, shape);
}

/** `[out, in, ...window]` of a filter `[...window, in, out]`. */
export function weightShape(filterShape: readonly number[]): number[] {
  const channels = filterShape.length - 2;
  return [filterShape[channels + 1]!, filterShape[channels]!, ...filterShape.slice(0, channels)];
}

function product(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all * size, 1);
}
