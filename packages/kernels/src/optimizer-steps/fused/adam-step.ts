import { operator, operatorInPlace } from '@acc/native';
import type { StepChunk } from './native-step.js';

const fusedAdam = operatorInPlace('acc::adam_');
const fusedAdamW = operatorInPlace('acc::adamw_');
const full = operator('aten::full');

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

export interface AdamStepConstants extends AdamConstants {
  readonly learningRate: number;
  /** The weights first shrink by the factor 1 - learningRate · weightDecay. */
  readonly weightDecay?: number;
}

/** Updates the weights and the moments by Adam, in place, with libtorch's fused kernel. */
export function adamStep(
  { weights, grads, state: [firstMoments, secondMoments] }: StepChunk,
  { learningRate, beta1, beta2, epsilon, step, weightDecay = 0 }: AdamStepConstants,
): void {
  if (weights.length === 0) return;
  const run = weightDecay > 0 ? fusedAdamW : fusedAdam;
  using count = full([], step, 'float32');
  const counts = weights.map(() => count);
  const constants = [learningRate, beta1, beta2, weightDecay, epsilon] as const;
  run(weights, grads, firstMoments, secondMoments, counts, ...constants);
}
