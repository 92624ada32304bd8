import type { NativeTensor } from '@acc/contract';
import { operatorInPlace, operatorWithResults, type OperatorArgument, type Tensor } from '@acc/native';

// libtorch's operators on lists of tensors: one call for all tensors of a list. On a GPU it is one
// launch.

export type TensorList = readonly NativeTensor[];

/** Tensors that are disposed at the end of a scope. */
export class Temporaries implements Disposable {
  constructor(readonly list: TensorList) {}

  [Symbol.dispose](): void {
    for (const tensor of this.list) tensor.dispose();
  }
}

/** An operator whose single result is a list. */
/* @__NO_SIDE_EFFECTS__ */
function listOperator(name: string): (...args: OperatorArgument[]) => Temporaries {
  const run = operatorWithResults(name);
  return (...args) => new Temporaries(run(...args)[0] as Tensor[]);
}

// Operators that write into their first argument. The underscore follows libtorch's names.

/** x ← x + value */
export const addScalar_ = operatorInPlace('aten::_foreach_add_.Scalar');
/** x ← x + alpha · y */
export const add_ = operatorInPlace('aten::_foreach_add_.List');
/** x ← x - y */
export const sub_ = operatorInPlace('aten::_foreach_sub_.List');
/** x ← value · x */
export const scale_ = operatorInPlace('aten::_foreach_mul_.Scalar');
/** x ← x · y, where y may be scalars */
export const mul_ = operatorInPlace('aten::_foreach_mul_.List');
/** x ← x / y */
export const div_ = operatorInPlace('aten::_foreach_div_.List');
/** x ← x + value · a · b */
export const addcmul_ = operatorInPlace('aten::_foreach_addcmul_.Scalar');
/** x ← x + value · a / b */
export const addcdiv_ = operatorInPlace('aten::_foreach_addcdiv_.Scalar');
/** x ← x + weight · (y - x) */
export const lerp_ = operatorInPlace('aten::_foreach_lerp_.Scalar');
export const sqrt_ = operatorInPlace('aten::_foreach_sqrt_');
export const sign_ = operatorInPlace('aten::_foreach_sign_');
export const maximum_ = operatorInPlace('aten::_foreach_maximum_.List');
/** x ← y */
export const copy_ = operatorInPlace('aten::_foreach_copy_');

// Operators that return new tensors.

/** x + value */
export const addScalar = listOperator('aten::_foreach_add.Scalar');
/** value · x */
export const scale = listOperator('aten::_foreach_mul.Scalar');
/** x · y */
export const mul = listOperator('aten::_foreach_mul.List');
/** x / y */
export const div = listOperator('aten::_foreach_div.List');
/** x + weight · (y - x) */
export const lerp = listOperator('aten::_foreach_lerp.Scalar');
export const sign = listOperator('aten::_foreach_sign');
export const abs = listOperator('aten::_foreach_abs');
/** The Euclidean norm of each tensor, as a scalar. */
export const norm = listOperator('aten::_foreach_norm.Scalar');
