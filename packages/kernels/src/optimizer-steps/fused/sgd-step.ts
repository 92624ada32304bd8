import { operatorInPlace } from '@acc/native';
import { copy_ } from '../../list-math/foreach.js';
import type { StepChunk } from './native-step.js';

const fusedSgd = operatorInPlace('aten::_fused_sgd_');

export interface SgdConstants {
  readonly learningRate: number;
  readonly momentum: number;
  /**
   * True: w ← w - learningRate · (g + momentum · a). False: w ← w - learningRate · a. a is the new
   * accumulation.
   */
  readonly nesterov: boolean;
}

/** w ← w - learningRate · g, in place, with libtorch's fused kernel. */
export function plainSgdStep({ weights, grads }: StepChunk, learningRate: number): void {
  fusedSgd(weights, grads, [], 0, 0, learningRate, 0, false, false, false);
}

/**
 * a ← momentum · a + g, which is the only state, then the update of the weights, in place, with
 * libtorch's fused kernel.
 */
export function momentumStep(chunk: StepChunk, { learningRate, momentum, nesterov }: SgdConstants): void {
  const { weights, grads, state } = chunk;
  if (momentum === 0) {
    // With momentum 0, libtorch does not update the accumulations.
    copy_(state[0], grads);
    plainSgdStep(chunk, learningRate);
  } else {
    fusedSgd(weights, grads, state[0], 0, momentum, learningRate, 0, nesterov, false, false);
  }
}
