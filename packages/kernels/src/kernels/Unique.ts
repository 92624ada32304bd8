import {
  Unique,
  util,
  type KernelConfig,
  type TensorInfo,
  type UniqueAttrs,
  type UniqueInputs,
} from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, operatorWithResults, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';
import { runOnCpu } from '../cpu-fallback.js';
import { countUp } from '../families/count-up.js';
import { kernel } from '../kernel.js';

const argsort = operator('aten::argsort');
const full = operator('aten::full');
const indexCopy = operatorInPlace('aten::index_copy_');
const leastInto = operatorInPlace('aten::scatter_reduce_.two');
const newEmpty = operator('aten::new_empty');
const select = operator('aten::index_select');
const uniqueAlong = operatorWithResults('aten::unique_dim');

const native = kernel<UniqueInputs, UniqueAttrs>(Unique, ({ inputs: { x }, attrs: { axis }, backend }) =>
  uniqueIntegers(backend, x, util.parseAxisParam(axis, x.shape)[0]!),
);
const onCpu = runOnCpu(Unique);

/**
 * Runs here for integers. Other dtypes run on the cpu backend, which treats all NaN as one value.
 */
export const unique: KernelConfig = {
  ...native,
  kernelFunc: (call) => {
    const { dtype, shape } = call.inputs['x']!;
    return (dtype === 'int32' && !shape.includes(0) ? native.kernelFunc : onCpu)(call);
  },
};

/**
 * The distinct slices along `dim` in the order of their first appearance, and for each slice the
 * index of its distinct slice.
 */
function uniqueIntegers(backend: AccBackend, x: TensorInfo, dim: number): TensorInfo[] {
  const [values, places] = uniqueAlong(backend.native(x), dim, true, true) as [NativeTensor, NativeTensor];
  using sorted = values;
  using inverse = places;
  const count = sorted.shape[dim]!;
  using numbers = countUp(inverse.shape, 'int64');
  using first = full([count], x.shape[dim]!, 'int64');
  leastInto(first, 0, inverse, numbers, 'amin');
  using order = argsort(first);
  using ordinals = countUp([count], 'int64');
  using rank = newEmpty(ordinals, [count]);
  indexCopy(rank, 0, order, ordinals);
  return [backend.wrap(select(sorted, dim, order), x.dtype), backend.wrap(select(rank, 0, inverse), 'int32')];
}
