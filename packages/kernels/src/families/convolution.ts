import { AccError } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { channelsLastStrides, shapeOnly } from './images.js';
import { tuned } from '../tuning/tuning.js';
import { after, explicitPads, isSymmetric, padded, unpadded, type WindowAxis } from './sliding-window.js';

// Every convolution of the backend runs through the three functions of this file. Images are
// `[batch, channels, ...spatial]` and weights are `[out, in / groups, ...window]`.

const convolution = operator('aten::convolution');
const weightGradientOf = operator('acc::convolution_weight_gradient');
const winograd = operator('acc::winograd_convolution');
const winogradWeightGradient = operator('acc::winograd_convolution_weight_gradient');
const reshape = operator('aten::reshape');
const slice = operator('aten::slice.Tensor');
const transpose = operator('aten::t');
const permute = operator('aten::permute');
const contiguous = operator('aten::contiguous');
const asStrided = operator('aten::as_strided');

/** The windows and groups of a convolution. */
export interface Sliding {
  readonly axes: readonly WindowAxis[];
  readonly groups: number;
}

/**
 * Sets the stride to 1 on an axis with a single window, where the stride has no meaning. With a
 * single channel, oneDNN computes wrong results for another stride (3.12, found by comparison with
 * float64).
 */
export function slidingOf(axes: readonly WindowAxis[], groups: number): Sliding {
  return { axes: axes.map((axis) => (axis.outSize === 1 ? { ...axis, stride: 1 } : axis)), groups };
}

const strides = (axes: readonly WindowAxis[]): number[] => axes.map(({ stride }) => stride);
const dilations = (axes: readonly WindowAxis[]): number[] => axes.map(({ dilation }) => dilation);
const zeros = (axes: readonly WindowAxis[]): number[] => axes.map(() => 0);

/**
 * The padding that libtorch applies itself, equal at both ends. If that is not possible, `pads` is
 * the explicit padding.
 */
function paddingOf(axes: readonly WindowAxis[]): { padding: number[]; pads: number[] | undefined } {
  return axes.every(isSymmetric)
    ? { padding: axes.map(({ before }) => before), pads: undefined }
    : { padding: zeros(axes), pads: explicitPads(axes) };
}

type Compute<Rest extends unknown[]> = (a: NativeTensor, b: NativeTensor, ...rest: Rest) => NativeTensor;

/**
 * Runs `compute` in one of libtorch's two layouts: channels innermost in memory, as in tfjs's
 * images, or outermost. The result has the same layout, so a whole network can stay in the faster
 * one. The third candidate is this project's own kernel, with channels innermost, for windows of 3 × 3 or
 * 5 × 5 pixels on CPUs with AVX-512.
 */
function inBothLayouts<Rest extends unknown[]>(
  name: string,
  compute: Compute<Rest>,
  byWinograd: Compute<Rest>,
  nameOf: (a: NativeTensor, b: NativeTensor, ...rest: Rest) => string,
): Compute<Rest> {
  const within =
    (formats: readonly number[]) =>
    (a: NativeTensor, b: NativeTensor, ...rest: Rest): NativeTensor => {
      const format = formats[a.shape.length - 4]!;
      using first = contiguous(a, format);
      using second = contiguous(b, format);
      return compute(first, second, ...rest);
    };
  return tuned<[NativeTensor, NativeTensor, ...Rest]>({
    name,
    candidates: {
      channelsLast: within(CHANNELS_LAST),
      channelsFirst: within([ROW_MAJOR, ROW_MAJOR]),
      winograd: byWinograd,
    },
    // If neighbouring operators use the other layout, each converts between the layouts.
    clearly: 0.85,
    classOf: nameOf,
    nameOf,
    isSmall: (...[a]) => product(a.shape) < SMALL_IMAGES,
  });
}

/** libtorch's constants for layouts: of images, and of volumes. */
const CHANNELS_LAST = [2, 3];
const ROW_MAJOR = 0;

/** Below this many elements, a convolution takes less time than the call of the operator. */
const SMALL_IMAGES = 2 ** 12;

function className(
  { dtype, shape: [batch, ...rest] }: NativeTensor,
  weightShape: readonly number[],
  { axes, groups }: Sliding,
): string {
  const windows = axes.map(({ stride, dilation, before }) => `${stride},${dilation},${before}`).join(' ');
  return `${dtype} ${2 ** (31 - Math.clz32(batch!))},${rest.join()} * ${weightShape.join()} ${windows} ${groups}`;
}

/** The convolution, `[batch, out, ...outSizes]`; `bias` is `[out]` or null. Caller disposes. */
export const convolve = inBothLayouts(
  'convolution',
  convolveAsIs,
  convolveByWinograd,
  (x, weight, bias: NativeTensor | null, sliding: Sliding) =>
    `${className(x, weight.shape, sliding)}${bias ? ' + bias' : ''}`,
);

function convolveAsIs(
  x: NativeTensor,
  weight: NativeTensor,
  bias: NativeTensor | null,
  { axes, groups }: Sliding,
): NativeTensor {
  const { padding, pads } = paddingOf(axes);
  using images = pads && padded(x, pads);
  return convolution(
    images ?? x,
    weight,
    bias,
    strides(axes),
    padding,
    dilations(axes),
    false,
    zeros(axes),
    groups,
  );
}

function convolveByWinograd(
  x: NativeTensor,
  weight: NativeTensor,
  bias: NativeTensor | null,
  sliding: Sliding,
): NativeTensor {
  const { padding, pads } = winogradPadding(sliding);
  using images = pads && padded(x, pads);
  return winograd(images ?? x, weight, bias, padding, false);
}

/** The gradient with respect to the images, `[batch, in, ...sizes]`. Caller disposes. */
export const inputGradient = inBothLayouts(
  'convolutionInputGradient',
  inputGradientAsIs,
  inputGradientByWinograd,
  (dy, weight, sliding: Sliding) => className(dy, weight.shape, sliding),
);

function inputGradientAsIs(dy: NativeTensor, weight: NativeTensor, { axes, groups }: Sliding): NativeTensor {
  const { padding, pads } = paddingOf(axes);
  // The number of elements at the end that no window reached.
  const rest = pads ? zeros(axes) : axes.map((axis) => axis.before - after(axis));
  // A transposed convolution needs no images and is as fast as convolution_backward, which does.
  const gradient = convolution(dy, weight, null, strides(axes), padding, dilations(axes), true, rest, groups);
  if (!pads) return gradient;
  using full = gradient;
  return unpadded(full, pads);
}

function inputGradientByWinograd(dy: NativeTensor, weight: NativeTensor, sliding: Sliding): NativeTensor {
  const { padding, pads } = winogradPadding(sliding);
  const gradient = winograd(dy, weight, null, padding, true);
  if (!pads) return gradient;
  using full = gradient;
  return unpadded(full, pads);
}

/** The gradient with respect to a weight of `shape`. Caller disposes. */
export const weightGradient = inBothLayouts(
  'convolutionWeightGradient',
  weightGradientAsIs,
  weightGradientByWinograd,
  (x, _dy, shape: readonly number[], sliding: Sliding) => className(x, shape, sliding),
);

function weightGradientAsIs(
  x: NativeTensor,
  dy: NativeTensor,
  shape: readonly number[],
  { axes, groups }: Sliding,
): NativeTensor {
  if (axes.every(({ window }) => window === 1) && axes.some(({ stride }) => stride > 1)) {
    // oneDNN's implementation with strides corrupts memory if there are few channels (its report
    // "1x1 convolution backward_weights writes past the rtus workspace", open with 3.12).
    using seen = seenPixels(x, axes);
    const seenAxes = axes.map(({ outSize }) => ({ ...UNIT_AXIS, size: outSize, outSize }));
    return weightGradientAsIs(seen, dy, shape, { axes: seenAxes, groups });
  }
  const { padding, pads } = paddingOf(axes);
  using images = pads && padded(x, pads);
  // The actual weight would be converted to channels-last needlessly, which can take longer than
  // the gradient.
  using weight = shapeOnly(dy, shape);
  return weightGradientOf(dy, images ?? x, weight, strides(axes), padding, dilations(axes), groups);
}

function weightGradientByWinograd(
  x: NativeTensor,
  dy: NativeTensor,
  shape: readonly number[],
  sliding: Sliding,
): NativeTensor {
  const { padding, pads } = winogradPadding(sliding);
  using images = pads && padded(x, pads);
  return winogradWeightGradient(dy, images ?? x, shape.slice(2), padding);
}

/**
 * The padding for the own kernel. The kernel itself refuses other numbers of channels, sizes of
 * windows, dtypes and CPUs.
 *
 * @throws AccError `ACC_OPERATOR_FAILED` for strides, dilations and groups, so that the tuner
 *   excludes the kernel.
 */
function winogradPadding({ axes, groups }: Sliding): ReturnType<typeof paddingOf> {
  if (groups !== 1 || axes.some(({ stride, dilation }) => stride !== 1 || dilation !== 1)) {
    throw new AccError(
      'ACC_OPERATOR_FAILED',
      'acc::winograd_convolution has no strides, dilations or groups.',
      { help: 'Choose another kernel for this convolution.' },
    );
  }
  return paddingOf(axes);
}

const UNIT_AXIS = { window: 1, stride: 1, dilation: 1, before: 0 };

/** The pixels inside windows of one pixel: `[batch, channels, ...outSizes]`. Caller disposes. */
function seenPixels(x: NativeTensor, axes: readonly WindowAxis[]): NativeTensor {
  let seen = padded(x, explicitPads(axes));
  for (const [i, { stride }] of axes.entries()) {
    using wider = seen;
    seen = slice(wider, i + 2, 0, wider.shape[i + 2]!, stride);
  }
  return seen;
}

/**
 * Converts a tfjs filter `[...window, in, out]` to a weight `[out, in, ...window]`, channels-last.
 * libtorch would convert it element by element; the transposition of a matrix takes an eighth of
 * the time. Caller disposes.
 */
export function toWeight(filter: NativeTensor, shape: readonly number[]): NativeTensor {
  const weight = weightShape(shape);
  const out = weight[0]!;
  using rows = reshape(filter, [product(weight) / out, out]);
  using columns = transpose(rows);
  using flat = contiguous(columns);
  return asStrided(flat, weight, channelsLastStrides(weight));
}

/**
 * The inverse of {@link toWeight}, row-major. Takes ownership of `weight`. Caller disposes the
 * result.
 */
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

/** The weight shape `[out, in, ...window]` of a filter `[...window, in, out]`. */
export function weightShape(filterShape: readonly number[]): number[] {
  const channels = filterShape.length - 2;
  return [filterShape[channels + 1]!, filterShape[channels]!, ...filterShape.slice(0, channels)];
}

function product(sizes: readonly number[]): number {
  return sizes.reduce((all, size) => all * size, 1);
}
