import { AddN, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { inDtypeOf, isShort, toDtype } from '../families/conversion.js';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const add = operator('aten::add.Tensor');
const addInPlace = operatorInPlace('aten::add_.Tensor');

/**
 * The sum of one or more tensors of equal shape and dtype. Three or more 16-bit tensors are added
 * in float32, and the result is rounded once.
 */
export const addN = kernel<readonly TensorInfo[]>(AddN, ({ inputs, backend }) => {
  const [first, second, ...others] = inputs as readonly TensorInfo[];
  if (!second) return sameData(backend, first!);
  const natives = inputs.map((input) => backend.native(input));
  if (others.length > 0 && natives.every(isShort)) {
    using sum = natives.slice(1).reduce(plus, toDtype(natives[0]!, 'float32'));
    return backend.wrap(inDtypeOf(natives[0]!, sum), first!.dtype);
  }
  return backend.wrap(natives.slice(2).reduce(plus, add(natives[0]!, natives[1]!)), first!.dtype);
});

/**
 * Adds `other` to `total`, of which it takes ownership. Reuses the memory of `total` unless `other`
 * is a wider float, which tfjs's float32 allows.
 */
function plus(total: NativeTensor, other: NativeTensor): NativeTensor {
  if (total.dtype === other.dtype || (total.dtype === 'float32' && isShort(other))) {
    addInPlace(total, other);
    return total;
  }
  using narrow = total;
  return add(narrow, other);
}
