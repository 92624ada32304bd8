import { util } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';

const arange = operator('aten::arange');
const reshape = operator('aten::reshape');

/** 0, 1, 2, … in a shape with at most one dim that is not 1. Caller disposes. */
export function countUp(shape: readonly number[], dtype: NativeDtype): NativeTensor {
  using numbers = arange(util.sizeFromShape(shape as number[]), dtype);
  return reshape(numbers, shape);
}
