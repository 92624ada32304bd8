import { alongDim, elementwise } from './elementwise.js';
import {
  attention,
  attentionGradient,
  crossEntropy,
  norm,
  normGradient,
  recurrent,
  recurrentGradient,
  sigmoidCrossEntropyGradient,
  softmaxCrossEntropyGradient,
  withinLast,
} from './functions.js';
import { bySample, bySampleToShape, overSamples } from './images.js';
import {
  concat,
  gather,
  gatherNd,
  isAmong,
  isLast,
  isPadded,
  isTiled,
  keepsDim,
  pack,
  slice,
  split,
  transpose,
  unpack,
} from './movements.js';
import type { Rule } from './plan.js';
import { einsum, fusedMatMul, matMul, scatterAdd, segmentSum } from './products.js';
import { meanOf, reductionWithinRows, sumOf } from './reductions.js';

export { LINEAR_RULES } from './linear.js';

const named = (names: string, rule: Rule) => names.split(' ').map((name): [string, Rule] => [name, rule]);

/** Kernels that only change the shape of their input. The form of the data is unchanged. */
export const SAME_DATA: ReadonlySet<string> = new Set(['Identity', 'Reshape', 'ExpandDims']);

/** Kernels that draw random numbers in each call. */
export const RANDOM: ReadonlySet<string> = new Set(['AccDropout']);

/**
 * Rules by kernel (those of tfjs and of `@acc/kernels`), for calls in which an input has rows.
 * Other kernels cannot run by shards.
 */
export const RULES: ReadonlyMap<string, Rule> = new Map([
  ...named(
    'Abs Acos Acosh Asin Asinh Atan Atanh Ceil ClipByValue Cos Cosh Elu Erf Exp Expm1 Floor',
    elementwise,
  ),
  ...named(
    'IsFinite IsInf IsNan LeakyRelu Log Log1p LogicalNot Neg OnesLike Reciprocal Relu Relu6',
    elementwise,
  ),
  ...named(
    'Round Rsqrt Selu Sigmoid Sign Sin Sinh Softplus Sqrt Square Step Tan Tanh ZerosLike',
    elementwise,
  ),
  ...named('Cast AccCast Complex ComplexAbs Real Imag', elementwise),
  ...named(
    'Add AddN Atan2 BitwiseAnd Equal FloorDiv Greater GreaterEqual Less LessEqual LogicalAnd',
    elementwise,
  ),
  ...named('LogicalOr Maximum Minimum Mod Multiply NotEqual Pow Prelu RealDiv', elementwise),
  ...named('SquaredDifference Sub Select EluGrad FusedBatchNorm', elementwise),
  ...named('ReluGrad Relu6Grad ClipByValueGrad LeakyReluGrad SoftplusGrad SigmoidGrad TanhGrad', elementwise),
  ['PowGrad', elementwise],
  ...named('AccDropout AccDropoutGrad AccGelu AccGeluGrad', elementwise),

  ['Sum', sumOf],
  ['Mean', meanOf],
  ...named('Prod Min All Any', reductionWithinRows()),
  ['Max', reductionWithinRows('reductionIndices')],
  ...named('ArgMax ArgMin', reductionWithinRows()),
  ['Softmax', alongDim('logits', ({ dim }) => dim as number)],
  ['SoftmaxGrad', alongDim('dy', ({ dim }) => dim as number)],
  ...named('Cumsum Cumprod', keepsDim(isAmong('axis'))),
  ['TopK', keepsDim(isLast)],
  ...named('FFT IFFT', keepsDim(isLast, 'input')),

  ['Transpose', transpose],
  ['Slice', slice],
  ['Concat', concat],
  ['Pack', pack],
  ['Unpack', unpack],
  ['SplitV', split],
  ...named('PadV2 MirrorPad', keepsDim(isPadded)),
  ['Tile', keepsDim(isTiled)],
  ['Reverse', keepsDim(isAmong('dims'))],
  ['OneHot', keepsDim(() => false, 'indices')],
  ['GatherV2', gather],
  ['GatherNd', gatherNd],

  ['BatchMatMul', matMul],
  ['_FusedMatMul', fusedMatMul],
  ['Einsum', einsum],
  ['UnsortedSegmentSum', segmentSum],
  ['ScatterNd', scatterAdd('updates', 'indices')],

  ...named('Conv2D FusedConv2D DepthwiseConv2dNative FusedDepthwiseConv2D Conv3D Dilation2D', bySample('x')),
  ...named('MaxPool AvgPool MaxPool3D AvgPool3D LRN DepthToSpace', bySample('x')),
  ...named('MaxPoolGrad MaxPool3DGrad', bySample('dy', 'input', 'output')),
  ...named('AvgPoolGrad AvgPool3DGrad', bySample('dy', 'input')),
  ['LRNGrad', bySample('x', 'y', 'dy')],
  ...named('ResizeBilinear ResizeNearestNeighbor', bySample('images')),
  ...named('ResizeBilinearGrad ResizeNearestNeighborGrad', bySample('dy', 'images')),
  ...named('FlipLeftRight RotateWithOffset', bySample('image')),
  ['Multinomial', bySample('logits')],
  ...named(
    'Conv2DBackpropInput DepthwiseConv2dNativeBackpropInput Conv3DBackpropInputV2',
    bySampleToShape('dy'),
  ),
  ['Dilation2DBackpropInput', bySample('x', 'dy')],
  ...named(
    'Conv2DBackpropFilter DepthwiseConv2dNativeBackpropFilter Conv3DBackpropFilterV2',
    overSamples('x', 'dy'),
  ),
  ['Dilation2DBackpropFilter', overSamples('x', 'dy')],

  ...named('AccLayerNorm AccRmsNorm', norm),
  ...named('AccLayerNormGrad AccRmsNormGrad', normGradient),
  ['AccRotaryEmbedding', withinLast('x', 2)],
  ['AccScaledDotProductAttention', attention],
  ['AccScaledDotProductAttentionGrad', attentionGradient],
  ...named('AccLstm AccGru', recurrent),
  ...named('AccLstmGrad AccGruGrad', recurrentGradient),
  ['SoftmaxCrossEntropy', crossEntropy('lastDim')],
  ['SigmoidCrossEntropy', crossEntropy('nothing')],
  ['SoftmaxCrossEntropyGrad', softmaxCrossEntropyGradient],
  ['SigmoidCrossEntropyGrad', sigmoidCrossEntropyGradient],
]);
