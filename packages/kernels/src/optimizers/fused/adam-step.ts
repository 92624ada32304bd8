import { operator, operatorInPlace } from '@acc/native';
import { inParts, type TensorList } from './foreach.js';

const fusedAdam = operatorInPlace('aten::_fused_adam_');
const fusedAdamW = operatorInPlace('aten::_fused_adamw_');
const full = operator('aten::full');

export interface AdamConstants {
  readonly learningRate: number;
  readonly beta1: number;
  readonly beta2: number;
  readonly epsilon: number;
  /** The step that is being taken, from 1: the bias of the moments is corrected by 1 - beta^step. */
  readonly step: number;
  /** Weights shrink by learningRate · weightDecay first. */
  readonly weightDecay?: number;
}

/** Adam's update of all `weights` and of their moments, in place, by libtorch's fused kernel. */
export function adamStep(
  weights: TensorList,
  grads: TensorList,
  [firstMoments, secondMoments]: readonly TensorList[],
  { learningRate, beta1, beta2, epsilon, step, weightDecay }: AdamConstants,
): void {
  if (weights.length === 0) return;
  const run = weightDecay ? fusedAdamW : fusedAdam;
  using count = full([], step, 'float32');
  inParts([weights, grads, firstMoments!, secondMoments!], ([w, g, m, v]) => {
    const counts = w!.map(() => count);
    run(w, g, m, v, [], counts, learningRate, beta1, beta2, weightDecay ?? 0, epsilon, false, false);
  });
}
