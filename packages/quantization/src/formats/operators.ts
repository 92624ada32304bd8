import { operator, type Tensor } from '@acc/native';

export const abs = operator('aten::abs');
export const add = operator('aten::add.Tensor');
export const addcmul = operator('aten::addcmul');
export const amax = operator('aten::amax');
export const amin = operator('aten::amin');
export const cast = operator('aten::_to_copy');
export const clampScalar = operator('aten::clamp');
export const div = operator('aten::div.Tensor');
export const divScalar = operator('aten::div.Scalar');
export const indexSelect = operator('aten::index_select');
export const mm = operator('aten::mm');
export const mul = operator('aten::mul.Tensor');
export const mulScalar = operator('aten::mul.Scalar');
export const reciprocal = operator('aten::reciprocal');
export const reshape = operator('aten::reshape');
export const round = operator('aten::round');
export const sub = operator('aten::sub.Tensor');
export const transpose = operator('aten::t');

/** `[rows, columns]` as `[rows, groups, columns of a group]`. A view. The caller disposes it. */
export function inGroups(matrix: Tensor, group: number): Tensor {
  const [rows, columns] = matrix.shape as [number, number];
  return reshape(matrix, [rows, columns / group, group]);
}

/** x·wᵀ in bfloat16, then in the dtype of `x`. `w` is `[rows, columns]`. The caller disposes it. */
export function shortProduct(x: Tensor, w: Tensor): Tensor {
  using short = cast(x, 'bfloat16');
  using weights = cast(w, 'bfloat16');
  using turned = transpose(weights);
  using product = mm(short, turned);
  return cast(product, x.dtype);
}

/**
 * The number of rows up to which libtorch's weight-only kernels are faster than a product of bfloat16
 * matrices (2048 × 2048 on one core with AVX-512: equal at about 10 rows).
 */
export const FEW_ROWS = 8;
