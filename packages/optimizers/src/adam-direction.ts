import { add, div, mul, sqrt, square, type Tensor } from '@tensorflow/tfjs-core';
import type { AdamConstants, Update } from '@acc/kernels/optimizer-steps';

/**
 * Adam's direction for one variable in plain tfjs operators. First updates `state`, which is m and
 * v, with the gradient. Caller disposes.
 *
 *     (m / (1 - β₁ᵗ)) / (√(v / (1 - β₂ᵗ)) + ε)
 */
export function adamDirection({ grad, state: [m, v] }: Update, constants: AdamConstants): Tensor {
  const { beta1, beta2, epsilon, step } = constants;
  m!.assign(add(mul(m!, beta1), mul(grad, 1 - beta1)));
  v!.assign(add(mul(v!, beta2), mul(square(grad), 1 - beta2)));
  const denominator = add(sqrt(div(v!, 1 - beta2 ** step)), epsilon);
  return div(div(m!, 1 - beta1 ** step), denominator);
}
