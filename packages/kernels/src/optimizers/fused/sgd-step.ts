import { operatorInPlace } from '@acc/native';
import { copy_, inParts, type TensorList } from './foreach.js';

const fusedSgd = operatorInPlace('aten::_fused_sgd_');

export interface SgdConstants {
  readonly learningRate: number;
  readonly momentum: number;
  /** w ← w - learningRate · (g + momentum · a) instead of w - learningRate · a, where a is the new accumulation. */
  readonly nesterov: boolean;
}

/** w ← w - learningRate · g, in place, by libtorch's fused kernel. */
export function plainSgdStep(weights: TensorList, grads: TensorList, learningRate: number): void {
  if (weights.length === 0) return;
  inParts([weights, grads], ([w, g]) => {
    fusedSgd(w, g, [], 0, 0, learningRate, 0, false, false, false);
  });
}

/** a ← momentum · a + g and the update of the weights by it, in place, by libtorch's fused kernel. */
export function momentumStep(
  weights: TensorList,
  grads: TensorList,
  accumulations: TensorList,
  { learningRate, momentum, nesterov }: SgdConstants,
): void {
  if (weights.length === 0) return;
  inParts([weights, grads, accumulations], ([w, g, a]) => {
    if (momentum === 0) {
      // libtorch then takes no accumulations.
      copy_(a, g);
      fusedSgd(w, g, [], 0, 0, learningRate, 0, false, false, false);
    } else {
      fusedSgd(w, g, a, 0, momentum, learningRate, 0, nesterov, false, false);
    }
  });
}
