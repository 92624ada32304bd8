import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { Activation } from './activation.js';
import { isEnded } from './product.js';

const int8Matmul = operator('acc::int8_matmul');

export interface Int8ProductOptions {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  /** Applied if the operator has it. */
  readonly activation?: Activation | undefined;
  /** The factor that is the gradient of a result. It is rounded at random. */
  readonly gradientFactor: '' | 'a' | 'b';
  readonly dtype: 'bfloat16' | 'float32';
  readonly seed: number;
}

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
  { transposeA, transposeB, activation, gradientFactor, dtype, seed }: Int8ProductOptions,
): NativeTensor {
  const end = isEnded(activation) ? (activation ?? 'linear') : 'linear';
  return int8Matmul(a, b, bias, transposeA, transposeB, end, dtype, gradientFactor, seed, false);
}
