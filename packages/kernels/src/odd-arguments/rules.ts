import { backend_util, type TensorInfo } from '@tensorflow/tfjs-core';
import { areAxes, areCounts, arePairs, areSteps, isAxis, isCount, type Attrs } from './numbers.js';
import { isOddConvolution, isOddPadding, isOddTransposed2D, isOddTransposed3D } from './convolutions.js';

export type Inputs = Readonly<Record<string, TensorInfo>>;

/** Whether a kernel's arguments are odd. Shapes and attributes alone decide, so nothing is read back. */
export type IsOdd = (inputs: Inputs, attrs: Attrs) => boolean;

const isEmpty = ({ shape }: TensorInfo): boolean => shape.includes(0);

const isOddCrop: IsOdd = ({ image }, { cropSize }) => !areCounts(cropSize, 1) || isEmpty(image!);

const isOddResize: IsOdd = ({ images }, { size }) => !areCounts(size, 1) || isEmpty(images!);

const isOddPad: IsOdd = ({ x }, { paddings }) => !arePairs(paddings, x!.shape.length);

const isOddPool: IsOdd = ({ x, input }, { filterSize, strides, pad }) => {
  const { shape } = (x ?? input)!;
  const dims = shape.length - 2;
  return !areSteps(filterSize, dims) || !areSteps(strides, dims) || isOddPadding(pad);
};

/** A window without pixels has no maximum that libtorch could place. */
const isOddArgmax: IsOdd = (inputs, attrs) => {
  const { filterSize, pad } = attrs;
  const x = inputs['x']!;
  if (isOddPool(inputs, attrs) || isEmpty(x) || Array.isArray(pad)) return true;
  const [height, width] = [filterSize].flat() as [number, number?];
  if (height > x.shape[1]! || (width ?? height) > x.shape[2]!) return true;
  return typeof pad === 'number' && 2 * pad > Math.min(height, width ?? height);
};

/** Also odd if a window does not fit the image, which can make the result empty. */
const isOddDilation: IsOdd = ({ x, filter }, { strides, pad, dilations }) => {
  if (!areSteps(strides, 2) || !areSteps(dilations, 2) || typeof pad !== 'string') return true;
  const [down, across] = [dilations].flat() as [number, number?];
  const [height, width] = filter!.shape as [number, number];
  return (height - 1) * down >= x!.shape[1]! || (width - 1) * (across ?? down) >= x!.shape[2]!;
};

const isOddRun: IsOdd = ({ x }, { axis }) => !isAxis(axis, x!.shape.length);

const isOddReverse: IsOdd = ({ x }, { dims }) => !areAxes(dims, x!.shape.length);

const isOddReduction: IsOdd = ({ x }, { axis, reductionIndices }) => {
  const axes = axis ?? reductionIndices;
  return axes !== undefined && axes !== null && !areAxes(axes, x!.shape.length);
};

const isScalar: IsOdd = ({ logits }) => logits!.shape.length === 0;

const isOddTranspose: IsOdd = ({ x }, { perm }) => !areCounts(perm) || !areAxes(perm, x!.shape.length);

const isOddUnpack: IsOdd = ({ value }, { axis }) => !isAxis(axis, value!.shape.length);

const isOddPack: IsOdd = (inputs, { axis }) => !isAxis(axis, inputs['0']!.shape.length + 1);

const isOddTile: IsOdd = ({ x }, { reps }) => !areCounts(reps) || reps.length !== x!.shape.length;

const isOddOneHot: IsOdd = (_inputs, { depth }) => !isCount(depth);

const isOddBins: IsOdd = (_inputs, { size }) => !isCount(size);

const isOddTopK: IsOdd = (_inputs, { k }) => !isCount(k);

const isOddLeakyRelu: IsOdd = (_inputs, { alpha }) => !Number.isFinite(alpha);

/** Integers have no infinity and no NaN. */
const isOddStep: IsOdd = ({ x }, { alpha }) => x!.dtype !== 'float32' && !Number.isFinite(alpha);

const isOddLinSpace: IsOdd = (_inputs, { start, stop, num }) =>
  !Number.isFinite(start) || !Number.isFinite(stop) || !isCount(num, 1);

const isOddNorm: IsOdd = ({ x }, { depthRadius }) => !isCount(depthRadius) || isEmpty(x!);

const isOddSegments: IsOdd = ({ x, segmentIds }, { numSegments }) =>
  !isCount(numSegments, 1) || (segmentIds!.shape.length === 1 && segmentIds!.shape[0] !== x!.shape[0]);

const isOddBlocks: IsOdd = ({ x }, { blockShape, paddings }) =>
  !areCounts(blockShape, 1) || blockShape.length >= x!.shape.length || !arePairs(paddings, blockShape.length);

/** Also odd if more is cropped than there is. */
const isOddUnblocking: IsOdd = ({ x }, { blockShape, crops }) => {
  if (!areCounts(blockShape, 1) || blockShape.length >= x!.shape.length) return true;
  if (!arePairs(crops, blockShape.length)) return true;
  return crops.some(([before, after], i) => before + after > x!.shape[i + 1]! * blockShape[i]!);
};

/** One size may be −1: what the others leave. */
const isOddSplit: IsOdd = ({ x }, { numOrSizeSplits, axis }) => {
  if (!Array.isArray(numOrSizeSplits)) return false;
  const sizes = numOrSizeSplits as number[];
  const given = sizes.filter((size) => size !== -1);
  const { shape } = x!;
  const all = shape[(axis as number) < 0 ? (axis as number) + shape.length : (axis as number)]!;
  const sum = given.reduce((before, size) => before + size, 0);
  return !areCounts(given) || given.length < sizes.length - 1 || sum > all;
};

/** tfjs takes values from the first, also where the second has none. */
const isOddSelect: IsOdd = ({ t, e }) => isEmpty(t!) !== isEmpty(e!);

/** The dtype is that of the first tensor with elements. */
const isOddConcat: IsOdd = (inputs) => {
  const all = Object.values(inputs);
  return all.some(isEmpty) && all.some(({ dtype }) => dtype !== all[0]!.dtype);
};

const isOddGather: IsOdd = (_inputs, { batchDims }) => !isCount(batchDims ?? 0);

/** Of a dim that is dropped, tfjs takes the given place, also where a mask leaves it out. */
const isOddStridedSlice: IsOdd = (_inputs, attrs) => {
  const { begin, end, strides, beginMask, endMask, shrinkAxisMask } = attrs as Record<string, number>;
  const areIntegers = [begin, end, strides].flat().every(Number.isInteger);
  return !areIntegers || ((beginMask! | endMask!) & shrinkAxisMask!) !== 0;
};

const isOddTransform: IsOdd = ({ image }, { outputShape }) =>
  isEmpty(image!) || (outputShape !== undefined && outputShape !== null && !areCounts(outputShape, 1));

/** Each number of statistics belongs to one channel, or one pixel. */
const isOddBatchNorm: IsOdd = (inputs, { varianceEpsilon }) => {
  if (typeof varianceEpsilon === 'number' && !(varianceEpsilon >= 0)) return true;
  const { x } = inputs;
  return ['mean', 'variance', 'scale', 'offset'].some((name) => {
    const info = inputs[name];
    return info !== undefined && info !== null && !broadcastsTo(info.shape, x!.shape);
  });
};

function broadcastsTo(shape: readonly number[], target: readonly number[]): boolean {
  const missing = target.length - shape.length;
  return missing >= 0 && shape.every((size, dim) => size === 1 || size === target[dim + missing]);
}

/** libtorch wants one letter for each dim. */
const isOddEinsum: IsOdd = (inputs, { equation }) => {
  const [terms] = (equation as string).replaceAll(' ', '').split('->');
  return terms!
    .split(',')
    .some((term, i) => inputs[i] !== undefined && inputs[i].shape.length !== term.length);
};

const isOddDepthwise: IsOdd = (inputs, attrs) => {
  if (isOddConvolution(4)(inputs, attrs)) return true;
  const { strides, dilations } = attrs as { strides: number; dilations?: number };
  return !backend_util.eitherStridesOrDilationsAreOne(strides, dilations ?? 1);
};

/** The kernels of tfjs with arguments that can be odd. */
export const ODD: ReadonlyMap<string, IsOdd> = new Map([
  ['All', isOddReduction],
  ['Any', isOddReduction],
  ['AvgPool', isOddPool],
  ['AvgPool3D', isOddPool],
  ['AvgPoolGrad', isOddPool],
  ['AvgPool3DGrad', isOddPool],
  ['BatchToSpaceND', isOddUnblocking],
  ['Bincount', isOddBins],
  ['Concat', isOddConcat],
  ['Conv2D', isOddConvolution(4)],
  ['Conv2DBackpropFilter', isOddConvolution(4)],
  ['Conv2DBackpropInput', isOddTransposed2D],
  ['Conv3D', isOddConvolution(5)],
  ['Conv3DBackpropFilterV2', isOddConvolution(5)],
  ['Conv3DBackpropInputV2', isOddTransposed3D],
  ['CropAndResize', isOddCrop],
  ['Cumprod', isOddRun],
  ['Cumsum', isOddRun],
  ['DenseBincount', isOddBins],
  ['DepthwiseConv2dNative', isOddDepthwise],
  ['Dilation2D', isOddDilation],
  ['Einsum', isOddEinsum],
  ['FusedBatchNorm', isOddBatchNorm],
  ['FusedConv2D', isOddConvolution(4)],
  ['FusedDepthwiseConv2D', isOddDepthwise],
  ['GatherV2', isOddGather],
  ['LRN', isOddNorm],
  ['LeakyRelu', isOddLeakyRelu],
  ['LinSpace', isOddLinSpace],
  ['Max', isOddReduction],
  ['MaxPool', isOddPool],
  ['MaxPool3D', isOddPool],
  ['MaxPool3DGrad', isOddPool],
  ['MaxPoolGrad', isOddPool],
  ['MaxPoolWithArgmax', isOddArgmax],
  ['Mean', isOddReduction],
  ['Min', isOddReduction],
  ['OneHot', isOddOneHot],
  ['Pack', isOddPack],
  ['PadV2', isOddPad],
  ['Prod', isOddReduction],
  ['ResizeBilinear', isOddResize],
  ['ResizeNearestNeighbor', isOddResize],
  ['Reverse', isOddReverse],
  ['Select', isOddSelect],
  ['Softmax', isScalar],
  ['SpaceToBatchND', isOddBlocks],
  ['SplitV', isOddSplit],
  ['Step', isOddStep],
  ['StridedSlice', isOddStridedSlice],
  ['Sum', isOddReduction],
  ['Tile', isOddTile],
  ['TopK', isOddTopK],
  ['Transform', isOddTransform],
  ['Transpose', isOddTranspose],
  ['Unpack', isOddUnpack],
  ['UnsortedSegmentSum', isOddSegments],
]);
