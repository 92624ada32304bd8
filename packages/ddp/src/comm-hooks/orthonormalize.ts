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

/** A column that loses all but this part of its length to the columns before it holds rounding errors only. */
const INDEPENDENT = 1e-4;

/**
 * Orthonormal columns that span those of `x`, by the modified Gram-Schmidt process. A column that depends on those before
 * it, or is zero, becomes zero. Caller disposes.
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
