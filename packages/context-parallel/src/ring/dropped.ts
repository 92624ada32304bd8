import { cast, mul, tidy, type Tensor } from '@tensorflow/tfjs-core';

/** The factors of weights of which some are dropped: 0, or 1 / (1 - rate). */
export function factorsOf(keep: Tensor, rate: number): Tensor {
  return tidy(() => mul(cast(keep, 'float32'), 1 / (1 - rate)));
}
