import type { CumsumAttrs, CumsumInputs, KernelConfig } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import { kernel } from '../kernel.js';
import { countingDtype } from './reductions.js';

const flip = operator('aten::flip');
const pad = operator('aten::constant_pad_nd');
const slice = operator('aten::slice.Tensor');

/**
 * A kernel for running sums or products along an axis. An exclusive run begins with `neutral`: each
 * element then holds the result up to the element before it.
 */
export function cumulativeKernel(kernelName: string, operatorName: string, neutral: number): KernelConfig {
  const accumulate = operator(operatorName);
  const exclusively = (x: NativeTensor, dim: number, dtype: NativeDtype): NativeTensor => {
    using allButLast = slice(x, dim, 0, x.shape[dim]! - 1);
    using inclusive = accumulate(allButLast, dim, dtype);
    const dimsAfter = x.shape.length - 1 - dim;
    return pad(inclusive, [...new Array<number>(2 * dimsAfter).fill(0), 1, 0], neutral);
  };
  return kernel<CumsumInputs, CumsumAttrs>(
    kernelName,
    ({ inputs: { x }, attrs: { axis, exclusive, reverse }, backend }) => {
      const dtype = countingDtype(x.dtype);
      const dim = axis < 0 ? axis + x.shape.length : axis;
      const native = backend.native(x);
      using reversed = reverse ? flip(native, [dim]) : undefined;
      const source = reversed ?? native;
      const nativeDtype = dtype === 'int32' ? 'int32' : source.dtype;
      const run =
        exclusive && x.shape[dim]! > 0
          ? exclusively(source, dim, nativeDtype)
          : accumulate(source, dim, nativeDtype);
      if (!reverse) return backend.wrap(run, dtype);
      using backwards = run;
      return backend.wrap(flip(backwards, [dim]), dtype);
    },
  );
}
