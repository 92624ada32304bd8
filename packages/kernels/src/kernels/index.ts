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
import { bincount } from './Bincount.js';
import { bitwiseAnd } from './BitwiseAnd.js';
import { broadcastTo } from './BroadcastTo.js';
import { cast } from './Cast.js';
import { ceil } from './Ceil.js';
import { clipByValue } from './ClipByValue.js';
import { complex } from './Complex.js';
import { complexAbs } from './ComplexAbs.js';
import { concat } from './Concat.js';
import { cos } from './Cos.js';
import { cosh } from './Cosh.js';
import { cumprod } from './Cumprod.js';
import { cumsum } from './Cumsum.js';
import { denseBincount } from './DenseBincount.js';
import { diag } from './Diag.js';
import { elu } from './Elu.js';
import { eluGrad } from './EluGrad.js';
import { equal } from './Equal.js';
import { erf } from './Erf.js';
import { exp } from './Exp.js';
import { expandDims } from './ExpandDims.js';
import { expm1 } from './Expm1.js';
import { fft } from './FFT.js';
import { fill } from './Fill.js';
import { floor } from './Floor.js';
import { floorDiv } from './FloorDiv.js';
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
import { max } from './Max.js';
import { maximum } from './Maximum.js';
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
import { reverse } from './Reverse.js';
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
import { softplus } from './Softplus.js';
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
import { transpose } from './Transpose.js';
import { unpack } from './Unpack.js';
import { unsortedSegmentSum } from './UnsortedSegmentSum.js';
import { zerosLike } from './ZerosLike.js';

/** Every kernel that runs in libtorch; one line a kernel, in alphabetical order. */
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
  bincount,
  bitwiseAnd,
  broadcastTo,
  cast,
  ceil,
  clipByValue,
  complex,
  complexAbs,
  concat,
  cos,
  cosh,
  cumprod,
  cumsum,
  denseBincount,
  diag,
  elu,
  eluGrad,
  equal,
  erf,
  exp,
  expandDims,
  expm1,
  fft,
  fill,
  floor,
  floorDiv,
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
  max,
  maximum,
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
  reverse,
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
  softplus,
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
  transpose,
  unpack,
  unsortedSegmentSum,
  zerosLike,
];
