import type { NativeTensor } from '@acc/contract';
import { operator, operatorWithResults, type Tensor } from '@acc/native';
import { mul_, norm, Temporaries, type TensorList } from '@acc/kernels/optimizer-steps';

const stack = operator('aten::stack');
const unbind = operatorWithResults('aten::unbind.int');
const divide = operator('aten::div.Tensor');
const and = operator('aten::logical_and');
const whereElse = operator('aten::where.ScalarOther');

/**
 * The Euclidean norms of the tensors of a non-empty list, `[length]`, on the device. Caller
 * disposes.
 */
export function norms(list: TensorList): Tensor {
  using scalars = norm(list);
  return stack(scalars.list, 0);
}

/** a / b where both are non-zero, else 1; `[length]`. Caller disposes. */
export function ratiosOrOne(a: NativeTensor, b: NativeTensor): Tensor {
  using quotients = divide(a, b);
  using areDefined = and(a, b);
  return whereElse(areDefined, quotients, 1);
}

/** x ← x · factor, tensor by tensor; `factors` is `[length]`. */
export function scaleEach_(list: TensorList, factors: NativeTensor): void {
  using scalars = new Temporaries(unbind(factors, 0)[0] as Tensor[]);
  mul_(list, scalars.list);
}
