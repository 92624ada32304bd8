import { util, type ArgMaxAttrs, type ArgMaxInputs, type KernelConfig } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';

const castTo = operator('aten::_to_copy');
const full = operator('aten::full');
const isNan = operator('aten::isnan');
const nanToNum = operator('aten::nan_to_num');
const select = operator('aten::select.int');
const fillMasked = operatorInPlace('aten::masked_fill_.Scalar');

/**
 * A kernel for the index of the extreme element along an axis; the first of equal ones. `worst` is
 * the value that every other value beats. libtorch treats NaN as the extreme. tfjs's comparisons
 * skip NaN, except at index 0: a NaN there wins.
 */
export function argKernel(kernelName: string, operatorName: string, worst: number): KernelConfig {
  const find = operator(operatorName);
  const findNumber = (x: NativeTensor, dim: number): NativeTensor => {
    using numbers = nanToNum(x, worst, Infinity, -Infinity);
    const found = find(numbers, dim);
    using firsts = select(x, dim, 0);
    using firstIsNan = isNan(firsts);
    fillMasked(found, firstIsNan, 0);
    return found;
  };
  return kernel<ArgMaxInputs, ArgMaxAttrs>(kernelName, ({ inputs: { x }, attrs: { axis }, backend }) => {
    const dim = util.parseAxisParam(axis, x.shape)[0]!;
    if (x.shape[dim] === 0) return backend.wrap(full(x.shape.toSpliced(dim, 1), 0, 'int32'), 'int32');
    const native = backend.native(x);
    if (x.dtype === 'float32') return backend.wrap(findNumber(native, dim), 'int32');
    if (x.dtype !== 'bool') return backend.wrap(find(native, dim), 'int32');
    using integers = castTo(native, 'uint8');
    return backend.wrap(find(integers, dim), 'int32');
  });
}
