import { AddN, type TensorInfo } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import { sameData } from '../families/same-data.js';
import { kernel } from '../kernel.js';

const add = operator('aten::add.Tensor');
const addInPlace = operatorInPlace('aten::add_.Tensor');
const toDtype = operator('aten::to.dtype');

/** The sum of one or more tensors of one shape and dtype; that of several in 16 bits is float32, since they could not count beyond 256. */
export const addN = kernel<readonly TensorInfo[]>(AddN, ({ inputs, backend }) => {
  const [first, second, ...others] = inputs as readonly TensorInfo[];
  if (!second) return sameData(backend, first!);
  let total = sumOfTwo(backend.native(first!), backend.native(second), others.length > 0);
  for (const other of others) total = plus(total, backend.native(other));
  return backend.wrap(total, first!.dtype);
});

const isShort = ({ dtype }: NativeTensor): boolean => dtype === 'bfloat16' || dtype === 'float16';

function sumOfTwo(x: NativeTensor, y: NativeTensor, othersFollow: boolean): NativeTensor {
  return othersFollow && isShort(x) ? plus(toDtype(x, 'float32'), y) : add(x, y);
}

/** Takes over `total`, and reuses its memory unless a wider float, which is possible behind tfjs's float32, joins it. */
function plus(total: NativeTensor, other: NativeTensor): NativeTensor {
  if (total.dtype === other.dtype || (total.dtype === 'float32' && isShort(other))) {
    addInPlace(total, other);
    return total;
  }
  using narrow = total;
  return add(narrow, other);
}
