import {
  logSumExp,
  mean,
  mul,
  scalar,
  square,
  stack,
  sum,
  tensor1d,
  type Tensor,
} from '@tensorflow/tfjs-core';

export interface RouterLossFactors {
  readonly balanceLoss: number;
  readonly zLoss: number;
}

/**
 * The losses that a router adds to the loss of a model, weighted, `[2]`. The first is small if all
 * experts get as many tokens: α · E · Σ fᵢ Pᵢ, where fᵢ is the share of the assignments that expert i
 * got, and Pᵢ its mean probability (Fedus et al., "Switch Transformers", 2021, equation 4). The
 * second keeps logits small: β · mean(log² Σ exp(logits)) (Zoph et al., "ST-MoE", 2022, equation 5).
 *
 * @param logits `[tokens, experts]`
 * @param assigned The assignments of each expert.
 */
export function routerLosses(
  logits: Tensor,
  probabilities: Tensor,
  assigned: readonly number[],
  { balanceLoss, zLoss }: RouterLossFactors,
): Tensor {
  const total = assigned.reduce((count, each) => count + each, 0);
  const shares = assigned.map((count) => (count * assigned.length * balanceLoss) / total);
  const balance = sum(mul(mean(probabilities, 0), tensor1d(shares)));
  if (zLoss === 0) return stack([balance, scalar(0)]);
  return stack([balance, mul(mean(square(logSumExp(logits, -1))), zLoss)]);
}
