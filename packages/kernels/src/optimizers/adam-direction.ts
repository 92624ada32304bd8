import { add, div, mul, sqrt, square, type Tensor } from '@tensorflow/tfjs-core';
import type { Update } from './slots.js';

export interface AdamConstants {
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /**
   * The number of the current step, from 1. The bias correction divides each moment by 1 -
   * beta^step.
   */
  readonly step: number;
}

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
