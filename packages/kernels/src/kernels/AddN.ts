import { AddN, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const add = operator('aten::add.Tensor');
const addInPlace = operatorInPlace('aten::add_.Tensor');

/** The sum of one or more tensors of one shape and dtype. */
export const addN = kernel<readonly TensorInfo[]>(AddN, ({ inputs, backend }) => {
  const [first, second, ...others] = inputs as readonly TensorInfo[];
  if (!second) return sameData(backend, first!);
  let total = add(backend.native(first!), backend.native(second));
  for (const other of others) total = plus(total, backend.native(other));
  return backend.wrap(total, first!.dtype);
});

/** Takes over `total`, and reuses its memory unless a wider float, which is possible behind tfjs's float32, joins it. */
function plus(total: NativeTensor, other: NativeTensor): NativeTensor {
  if (total.dtype === other.dtype) {
    addInPlace(total, other);
    return total;
  }
  using narrow = total;
  return add(narrow, other);
}
