import type { KernelConfig } from '@tensorflow/tfjs-core';
import { abs } from './Abs.js';
import { acos } from './Acos.js';
import { acosh } from './Acosh.js';
import { add } from './Add.js';
import { addN } from './AddN.js';
import { all } from './All.js';
import { any } from './Any.js';
import { argMax } from './ArgMax.js';
import { argMin } from './ArgMin.js';
import { asin } from './Asin.js';
import { asinh } from './Asinh.js';
import { atan } from './Atan.js';
import { atan2 } from './Atan2.js';
import { atanh } from './Atanh.js';
import { avgPool } from './AvgPool.js';
import { avgPool3D } from './AvgPool3D.js';
import { avgPool3DGrad } from './AvgPool3DGrad.js';
import { avgPoolGrad } from './AvgPoolGrad.js';
import { batchMatMul } from './BatchMatMul.js';
import { batchToSpaceND } from './BatchToSpaceND.js';
import { bincount } from './Bincount.js';
import { bitwiseAnd } from './BitwiseAnd.js';
import { broadcastTo } from './BroadcastTo.js';
import { cast } from './Cast.js';
import { ceil } from './Ceil.js';
import { clipByValue } from './ClipByValue.js';
import { complex } from './Complex.js';
import { complexAbs } from './ComplexAbs.js';
import { concat } from './Concat.js';
import { conv2D } from './Conv2D.js';
import { conv2DBackpropFilter } from './Conv2DBackpropFilter.js';
import { conv2DBackpropInput } from './Conv2DBackpropInput.js';
import { conv3D } from './Conv3D.js';
import { conv3DBackpropFilterV2 } from './Conv3DBackpropFilterV2.js';
import { conv3DBackpropInputV2 } from './Conv3DBackpropInputV2.js';
import { cos } from './Cos.js';
import { cosh } from './Cosh.js';
import { cropAndResize } from './CropAndResize.js';
import { cumprod } from './Cumprod.js';
import { cumsum } from './Cumsum.js';
import { denseBincount } from './DenseBincount.js';
import { depthToSpace } from './DepthToSpace.js';
import { depthwiseConv2dNative } from './DepthwiseConv2dNative.js';
import { depthwiseConv2dNativeBackpropFilter } from './DepthwiseConv2dNativeBackpropFilter.js';
import { depthwiseConv2dNativeBackpropInput } from './DepthwiseConv2dNativeBackpropInput.js';
import { diag } from './Diag.js';
import { dilation2D } from './Dilation2D.js';
import { dilation2DBackpropFilter } from './Dilation2DBackpropFilter.js';
import { dilation2DBackpropInput } from './Dilation2DBackpropInput.js';
import { einsum } from './Einsum.js';
import { elu } from './Elu.js';
import { eluGrad } from './EluGrad.js';
import { equal } from './Equal.js';
import { erf } from './Erf.js';
import { exp } from './Exp.js';
import { expandDims } from './ExpandDims.js';
import { expm1 } from './Expm1.js';
import { fft } from './FFT.js';
import { fill } from './Fill.js';
import { flipLeftRight } from './FlipLeftRight.js';
import { floor } from './Floor.js';
import { floorDiv } from './FloorDiv.js';
import { fusedBatchNorm } from './FusedBatchNorm.js';
import { fusedConv2D } from './FusedConv2D.js';
import { fusedDepthwiseConv2D } from './FusedDepthwiseConv2D.js';
import { fusedMatMul } from './_FusedMatMul.js';
import { gatherNd } from './GatherNd.js';
import { gatherV2 } from './GatherV2.js';
import { greater } from './Greater.js';
import { greaterEqual } from './GreaterEqual.js';
import { identity } from './Identity.js';
import { ifft } from './IFFT.js';
import { imag } from './Imag.js';
import { isFinite } from './IsFinite.js';
import { isInf } from './IsInf.js';
import { isNan } from './IsNan.js';
import { leakyRelu } from './LeakyRelu.js';
import { less } from './Less.js';
import { lessEqual } from './LessEqual.js';
import { linSpace } from './LinSpace.js';
import { log } from './Log.js';
import { log1p } from './Log1p.js';
import { logicalAnd } from './LogicalAnd.js';
import { logicalNot } from './LogicalNot.js';
import { logicalOr } from './LogicalOr.js';
import { logSoftmax } from './LogSoftmax.js';
import { lrn } from './LRN.js';
import { lrnGrad } from './LRNGrad.js';
import { max } from './Max.js';
import { maximum } from './Maximum.js';
import { maxPool } from './MaxPool.js';
import { maxPool3D } from './MaxPool3D.js';
import { maxPool3DGrad } from './MaxPool3DGrad.js';
import { maxPoolGrad } from './MaxPoolGrad.js';
import { maxPoolWithArgmax } from './MaxPoolWithArgmax.js';
import { mean } from './Mean.js';
import { min } from './Min.js';
import { minimum } from './Minimum.js';
import { mirrorPad } from './MirrorPad.js';
import { mod } from './Mod.js';
import { multinomial } from './Multinomial.js';
import { multiply } from './Multiply.js';
import { neg } from './Neg.js';
import { notEqual } from './NotEqual.js';
import { oneHot } from './OneHot.js';
import { onesLike } from './OnesLike.js';
import { pack } from './Pack.js';
import { padV2 } from './PadV2.js';
import { pow } from './Pow.js';
import { prelu } from './Prelu.js';
import { prod } from './Prod.js';
import { range } from './Range.js';
import { real } from './Real.js';
import { realDiv } from './RealDiv.js';
import { reciprocal } from './Reciprocal.js';
import { relu } from './Relu.js';
import { relu6 } from './Relu6.js';
import { reshape } from './Reshape.js';
import { resizeBilinear } from './ResizeBilinear.js';
import { resizeBilinearGrad } from './ResizeBilinearGrad.js';
import { resizeNearestNeighbor } from './ResizeNearestNeighbor.js';
import { resizeNearestNeighborGrad } from './ResizeNearestNeighborGrad.js';
import { reverse } from './Reverse.js';
import { rotateWithOffset } from './RotateWithOffset.js';
import { round } from './Round.js';
import { rsqrt } from './Rsqrt.js';
import { scatterNd } from './ScatterNd.js';
import { searchSorted } from './SearchSorted.js';
import { select } from './Select.js';
import { selu } from './Selu.js';
import { sigmoid } from './Sigmoid.js';
import { sign } from './Sign.js';
import { sin } from './Sin.js';
import { sinh } from './Sinh.js';
import { slice } from './Slice.js';
import { softmax } from './Softmax.js';
import { softplus } from './Softplus.js';
import { spaceToBatchND } from './SpaceToBatchND.js';
import { sparseToDense } from './SparseToDense.js';
import { splitV } from './SplitV.js';
import { sqrt } from './Sqrt.js';
import { square } from './Square.js';
import { squaredDifference } from './SquaredDifference.js';
import { step } from './Step.js';
import { stridedSlice } from './StridedSlice.js';
import { sub } from './Sub.js';
import { sum } from './Sum.js';
import { tan } from './Tan.js';
import { tanh } from './Tanh.js';
import { tensorScatterUpdate } from './TensorScatterUpdate.js';
import { tile } from './Tile.js';
import { topK } from './TopK.js';
import { transform } from './Transform.js';
import { transpose } from './Transpose.js';
import { unique } from './Unique.js';
import { unpack } from './Unpack.js';
import { unsortedSegmentSum } from './UnsortedSegmentSum.js';
import { zerosLike } from './ZerosLike.js';

/** Every kernel that runs in libtorch: one kernel a line, in alphabetical order. */
export const NATIVE_KERNELS: readonly KernelConfig[] = [
  abs,
  acos,
  acosh,
  add,
  addN,
  all,
  any,
  argMax,
  argMin,
  asin,
  asinh,
  atan,
  atan2,
  atanh,
  avgPool,
  avgPool3D,
  avgPool3DGrad,
  avgPoolGrad,
  batchMatMul,
  batchToSpaceND,
  bincount,
  bitwiseAnd,
  broadcastTo,
  cast,
  ceil,
  clipByValue,
  complex,
  complexAbs,
  concat,
  conv2D,
  conv2DBackpropFilter,
  conv2DBackpropInput,
  conv3D,
  conv3DBackpropFilterV2,
  conv3DBackpropInputV2,
  cos,
  cosh,
  cropAndResize,
  cumprod,
  cumsum,
  denseBincount,
  depthToSpace,
  depthwiseConv2dNative,
  depthwiseConv2dNativeBackpropFilter,
  depthwiseConv2dNativeBackpropInput,
  diag,
  dilation2D,
  dilation2DBackpropFilter,
  dilation2DBackpropInput,
  einsum,
  elu,
  eluGrad,
  equal,
  erf,
  exp,
  expandDims,
  expm1,
  fft,
  fill,
  flipLeftRight,
  floor,
  floorDiv,
  fusedBatchNorm,
  fusedConv2D,
  fusedDepthwiseConv2D,
  fusedMatMul,
  gatherNd,
  gatherV2,
  greater,
  greaterEqual,
  identity,
  ifft,
  imag,
  isFinite,
  isInf,
  isNan,
  leakyRelu,
  less,
  lessEqual,
  linSpace,
  log,
  log1p,
  logicalAnd,
  logicalNot,
  logicalOr,
  logSoftmax,
  lrn,
  lrnGrad,
  max,
  maximum,
  maxPool,
  maxPool3D,
  maxPool3DGrad,
  maxPoolGrad,
  maxPoolWithArgmax,
  mean,
  min,
  minimum,
  mirrorPad,
  mod,
  multinomial,
  multiply,
  neg,
  notEqual,
  oneHot,
  onesLike,
  pack,
  padV2,
  pow,
  prelu,
  prod,
  range,
  real,
  realDiv,
  reciprocal,
  relu,
  relu6,
  reshape,
  resizeBilinear,
  resizeBilinearGrad,
  resizeNearestNeighbor,
  resizeNearestNeighborGrad,
  reverse,
  rotateWithOffset,
  round,
  rsqrt,
  scatterNd,
  searchSorted,
  select,
  selu,
  sigmoid,
  sign,
  sin,
  sinh,
  slice,
  softmax,
  softplus,
  spaceToBatchND,
  sparseToDense,
  splitV,
  sqrt,
  square,
  squaredDifference,
  step,
  stridedSlice,
  sub,
  sum,
  tan,
  tanh,
  tensorScatterUpdate,
  tile,
  topK,
  transform,
  transpose,
  unique,
  unpack,
  unsortedSegmentSum,
  zerosLike,
];
