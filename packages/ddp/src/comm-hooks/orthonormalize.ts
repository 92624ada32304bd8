import {
  concat,
  div,
  greater,
  matMul,
  mul,
  norm,
  reshape,
  slice,
  sub,
  tidy,
  where,
  zerosLike,
} from '@tensorflow/tfjs-core';
import type { Tensor } from '@tensorflow/tfjs-core';

/**
 * If less than this part of a column's length is independent of the earlier columns, the rest is
 * rounding errors.
 */
const INDEPENDENT = 1e-4;

/**
 * Orthonormal columns that span those of `x`, by the modified Gram-Schmidt process. A column that
 * depends on earlier columns, or is zero, becomes zero. The caller disposes the result.
 *
 * @param x Shape [rows, columns].
 */
export function orthonormalize(x: Tensor): Tensor {
  const [rows, columns] = x.shape as [number, number];
  return tidy(() => {
    const done: Tensor[] = [];
    for (let k = 0; k < columns; k++) {
      const given = slice(x, [0, k], [rows, 1]);
      let rest = given;
      for (const column of done) rest = sub(rest, mul(column, matMul(column as never, rest as never, true)));
      const length = norm(rest);
      const isIndependent = greater(length, mul(norm(given), INDEPENDENT));
      done.push(where(reshape(isIndependent, [1, 1]), div(rest, length), zerosLike(rest)));
    }
    return concat(done, 1);
  });
}
