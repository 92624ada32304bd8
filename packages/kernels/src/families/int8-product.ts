import { operator, type Tensor as NativeTensor } from '@acc/native';
import { isEnded } from './product.js';
import type { Int8Product, MatMulAttrs } from './matmul-inputs.js';

const int8Matmul = operator('acc::int8_matmul');

/** How a product ends: the factor that is rounded at random, and the dtype of the result. */
const ENDS: Readonly<Record<Int8Product, readonly [stochastic: '' | 'a' | 'b', dtype: string]>> = {
  forward: ['', 'bfloat16'],
  inputGradient: ['a', 'bfloat16'],
  weightGradientA: ['a', 'float32'],
  weightGradientB: ['b', 'float32'],
};

/**
 * The product of two matrices, each rounded to 8-bit integers: one scale for each row of the first factor
 * and for each column of the second one, so that the sum over the integers can be scaled afterwards. The
 * gradient of a result is rounded up or down at random, because its small numbers would otherwise be lost
 * in one direction (Banner et al. 2018). The random numbers depend on the numbers of the row and on the seed
 * alone, so a row is rounded alike on every rank. Caller disposes.
 */
export function int8Product(
  a: NativeTensor,
  b: NativeTensor,
  bias: NativeTensor | null,
  { transposeA, transposeB, activation, int8, int8Seed = 0 }: MatMulAttrs,
): NativeTensor {
  const [stochastic, dtype] = ENDS[int8!];
  const end = isEnded(activation) ? (activation ?? 'linear') : 'linear';
  return int8Matmul(a, b, bias, transposeA, transposeB, end, dtype, stochastic, int8Seed, false);
}
