import { operator, operatorInPlace, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import { shapeOnly } from './images.js';
import { after, explicitPads, padded, paddedSizes, unpadded, type WindowAxis } from './sliding-window.js';

// Pooling of images `[batch, channels, ...spatial]` with 2 or 3 spatial dims. Windows are not
// dilated: tfjs computes dilated pooling with SpaceToBatchND.

const OPERATORS = {
  2: {
    average: operator('aten::avg_pool2d'),
    averageBackward: operator('aten::avg_pool2d_backward'),
  },
  3: {
    average: operator('aten::avg_pool3d'),
    averageBackward: operator('aten::avg_pool3d_backward'),
  },
} as const;

/** From this package's addon: NaN counts as the smallest value, and nothing is read back. */
const max = operatorWithResults('acc::max_pool');
const maxBackward = operator('acc::max_pool_backward');
const clone = operator('aten::clone');
const newOnes = operator('aten::new_ones');
const flip = operator('aten::flip');
const divide = operatorInPlace('aten::div_.Tensor');
const atLeast = operatorInPlace('aten::clamp_min_');

/** libtorch's constant for row-major memory. */
const CONTIGUOUS = 0;

type Axes = readonly WindowAxis[];

const operatorsOf = (axes: Axes) => OPERATORS[axes.length as 2 | 3];
const windows = (axes: Axes): number[] => axes.map(({ window }) => window);
const strides = (axes: Axes): number[] => axes.map(({ stride }) => stride);

/** The placement of the windows in libtorch. */
interface Placement {
  readonly padding: number[];
  /** Whether a last window may reach beyond the padding; elements there are ignored. */
  readonly ceil: boolean;
  /**
   * Explicit padding, if libtorch's own padding, equal at both ends, does not give the same
   * windows.
   */
  readonly pads: number[] | undefined;
}

function placementOf(axes: Axes): Placement {
  for (const ceil of [false, true]) {
    if (axes.every((axis) => placesAlike(axis, ceil))) {
      return { padding: axes.map(({ before }) => before), ceil, pads: undefined };
    }
  }
  return { padding: axes.map(() => 0), ceil: false, pads: explicitPads(axes) };
}

/**
 * Whether libtorch's pooling with padding `before` has tfjs's windows. avg_pool3d needs a window
 * that fits the image.
 */
function placesAlike({ size, outSize, window, stride, before }: WindowAxis, ceil: boolean): boolean {
  if (before < 0 || 2 * before > window || window > size) return false;
  const steps = (size + 2 * before - window) / stride;
  const count = (ceil ? Math.ceil(steps) : Math.floor(steps)) + 1;
  // libtorch drops a window that would begin after the last element.
  const isDropped = ceil && (count - 1) * stride >= size + before;
  return count - Number(isDropped) === outSize;
}

/** Maxima and their indices. Caller disposes both. */
export interface Maxima {
  readonly values: NativeTensor;
  /** int64 indices over the spatial dims of the images with explicit padding. */
  readonly indices: NativeTensor;
  /** Explicit padding, as in {@link explicitPads}; undefined for none. */
  readonly pads: readonly number[] | undefined;
}

/**
 * The maximum of each window, and the index of the first of equal ones. NaN is skipped, as in tfjs.
 */
export function maxPool(x: NativeTensor, axes: Axes): Maxima {
  const { padding, ceil, pads } = placementOf(axes);
  using explicit = pads && paddedForMax(x, pads);
  const [values, indices] = max(explicit ?? x, windows(axes), strides(axes), padding, ceil);
  return { values: values as NativeTensor, indices: indices as NativeTensor, pads };
}

function paddedForMax(x: NativeTensor, pads: readonly number[]): NativeTensor {
  const full = padded(x, pads, -Infinity);
  if (full.shape.length < 5) return full;
  // In channels-last memory, max_pool3d places the maximum of a window that holds only padding at
  // the image's start.
  using channelsLast = full;
  return clone(channelsLast, CONTIGUOUS);
}

/** Only the values of {@link maxPool}. Caller disposes. */
export function maxPoolValues(x: NativeTensor, axes: Axes): NativeTensor {
  const { values, indices } = maxPool(x, axes);
  indices.dispose();
  return values;
}

/** Like {@link scatteredToMaxima}, but finds the maxima first. Caller disposes. */
export function maxPoolGradient(dy: NativeTensor, x: NativeTensor, axes: Axes): NativeTensor {
  const { values, indices } = maxPool(x, axes);
  using held = indices;
  values.dispose();
  return scatteredToMaxima(dy, x, held, axes);
}

/**
 * The gradient of {@link maxPool} with its `indices`: the gradient of a window goes to its maximum.
 * Reads only the shape of `x`. Caller disposes.
 */
export function scatteredToMaxima(
  dy: NativeTensor,
  x: NativeTensor,
  indices: NativeTensor,
  axes: Axes,
): NativeTensor {
  const { padding, ceil, pads } = placementOf(axes);
  using images = pads && shapeOnly(x, [...x.shape.slice(0, 2), ...paddedSizes(axes)]);
  const gradient = maxBackward(dy, images ?? x, windows(axes), strides(axes), padding, ceil, indices);
  if (!pads) return gradient;
  using full = gradient;
  return unpadded(full, pads);
}

/** {@link maxPoolGradient} with the last of equal maxima, which tfjs uses for 3 spatial dims. */
export function lastMaxPoolGradient(dy: NativeTensor, x: NativeTensor, axes: Axes): NativeTensor {
  const spatial = axes.map((_, i) => i + 2);
  using flippedX = flip(x, spatial);
  using flippedDy = flip(dy, spatial);
  const flipped = axes.map((axis) => ({ ...axis, before: after(axis) }));
  using gradient = maxPoolGradient(flippedDy, flippedX, flipped);
  return flip(gradient, spatial);
}

/** Options for windows of {@link avgPool} that hold only padding. */
export interface AverageOptions {
  /**
   * The least count of elements in a window: with 0, the mean of only padding is NaN; with 1, it is
   * 0.
   */
  readonly minCount: 0 | 1;
}

/** The mean of each window over its elements without padding. Caller disposes. */
export function avgPool(x: NativeTensor, axes: Axes, { minCount }: AverageOptions): NativeTensor {
  const { average } = operatorsOf(axes);
  const { padding, ceil, pads } = placementOf(axes);
  if (!pads) return average(x, windows(axes), strides(axes), padding, ceil, false, null);
  const sums = (images: NativeTensor): NativeTensor => {
    using full = padded(images, pads);
    return average(full, windows(axes), strides(axes), padding, ceil, true, 1);
  };
  using each = newOnes(x, [1, 1, ...x.shape.slice(2)]);
  using counts = sums(each);
  if (minCount > 0) atLeast(counts, minCount);
  const means = sums(x);
  divide(means, counts);
  return means;
}

/**
 * The sum of each window, where the windows fill 2-D images without overlap; `window` is `[height,
 * width]`. Caller disposes.
 */
export function sumPool(x: NativeTensor, window: readonly [number, number]): NativeTensor {
  return OPERATORS[2].average(x, window, window, [0, 0], false, true, 1);
}

/**
 * The gradient of {@link avgPool} as on all of tfjs's backends: it divides by the size of the
 * window even if a part of the window is padding. `[batch, channels, ...sizes]`. Caller disposes.
 */
export function avgPoolGradient(dy: NativeTensor, axes: Axes): NativeTensor {
  const { averageBackward } = operatorsOf(axes);
  const { padding, ceil, pads } = placementOf(axes);
  const sizes = pads ? paddedSizes(axes) : axes.map(({ size }) => size);
  using images = shapeOnly(dy, [...dy.shape.slice(0, 2), ...sizes]);
  const windowSize = axes.reduce((product, { window }) => product * window, 1);
  const gradient = averageBackward(dy, images, windows(axes), strides(axes), padding, ceil, true, windowSize);
  if (!pads) return gradient;
  using full = gradient;
  return unpadded(full, pads);
}
