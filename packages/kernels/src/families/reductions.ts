import {
  backend_util,
  util,
  type DataType,
  type KernelConfig,
  type SumAttrs,
  type SumInputs,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { kernel } from '../kernel.js';
import { sameData } from './same-data.js';

const full = operator('aten::full');

export interface Reduction {
  /** The tfjs dtype of the result, from the input's dtype. Default: the same. */
  readonly resultDtype?: (dtype: DataType) => DataType;
  /** The result of tfjs's cpu backend if a reduced axis is empty. Default: libtorch's result. */
  readonly ofNothing?: number;
  /**
   * Reduces over `axes`, counted from 0, at least one. `asDtype` is defined if the result's dtype
   * differs from the input's, or is int32.
   */
  readonly reduce: (
    x: NativeTensor,
    axes: number[],
    keepDims: boolean,
    asDtype: NativeDtype | undefined,
  ) => NativeTensor;
}

/** The dtype of sums and products: booleans become int32. */
export const countingDtype = (dtype: DataType): DataType => (dtype === 'bool' ? 'int32' : dtype);

/** A kernel with the attributes `axis` (absent: all) and `keepDims`. */
export function reductionKernel(kernelName: string, reduction: Reduction): KernelConfig {
  return kernel<SumInputs, SumAttrs>(kernelName, ({ inputs: { x }, attrs, backend }) =>
    reduceOver(backend, x, attrs.axis, attrs.keepDims, reduction),
  );
}

/** Reduces `x` over `axis`. Without axes, every element stays. */
export function reduceOver(
  backend: AccBackend,
  x: TensorInfo,
  axis: number | number[],
  keepDims: boolean,
  { resultDtype, ofNothing, reduce }: Reduction,
): TensorInfo {
  const axes = util.parseAxisParam(axis, x.shape);
  const dtype = resultDtype ? resultDtype(x.dtype) : x.dtype;
  if (axes.length === 0) {
    return dtype === x.dtype ? sameData(backend, x) : backend.wrap(backend.native(x).alias(), dtype);
  }
  if (ofNothing !== undefined && axes.some((dim) => x.shape[dim] === 0)) {
    return filled(backend, x, axes, keepDims, dtype, ofNothing);
  }
  const asDtype = dtype === x.dtype && dtype !== 'int32' ? undefined : (dtype as NativeDtype);
  return backend.wrap(reduce(backend.native(x), axes, keepDims, asDtype), dtype);
}

function filled(
  backend: AccBackend,
  x: TensorInfo,
  axes: number[],
  keepDims: boolean,
  dtype: DataType,
  value: number,
): TensorInfo {
  const [outShape] = backend_util.computeOutAndReduceShapes(x.shape, axes);
  const shape = keepDims ? backend_util.expandShapeToKeepDim(outShape, axes) : outShape;
  // Integers have no NaN: a typed array stores it as 0.
  const element = dtype !== 'float32' && Number.isNaN(value) ? 0 : value;
  return backend.wrap(full(shape, element, dtype as NativeDtype), dtype);
}
