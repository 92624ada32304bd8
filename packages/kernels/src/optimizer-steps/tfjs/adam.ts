import { zerosLike } from '@tensorflow/tfjs-core';
import type { AdamInternals } from '@acc/tfjs-internals';
import { adamStep } from '../fused/adam-step.js';
import type { FusedRule } from '../fused/fused-rule.js';
import { multiplyScalar, scalarValue } from '../fused/known-scalars.js';

/**
 * m ← β₁ m + (1 - β₁) g; v ← β₂ v + (1 - β₂) g²; w ← w - lr · m̂ / (√v̂ + ε),
 *
 * where m̂ = m / (1 - accBeta1) and v̂ = v / (1 - accBeta2).
 */
export const adam: FusedRule<AdamInternals> = {
  slotLists: ({ accumulatedFirstMoment, accumulatedSecondMoment }) => [
    { slots: accumulatedFirstMoment, suffix: 'm', initial: zerosLike },
    { slots: accumulatedSecondMoment, suffix: 'v', initial: zerosLike },
  ],
  scalars: ({ accBeta1, accBeta2 }) => [accBeta1, accBeta2],
  update: ({ learningRate, beta1, beta2, epsilon, accBeta1, accBeta2 }, chunk) => {
    // libtorch computes the bias corrections from the number of the step; tfjs uses its rounded
    // products of β. The call therefore passes step 1, with the learning rate and the epsilon that
    // make libtorch's formula give tfjs's result.
    const correction1 = Math.fround(1 - scalarValue(accBeta1)) / (1 - beta1);
    const correction2 = Math.sqrt(Math.fround(1 - scalarValue(accBeta2)) / (1 - beta2));
    adamStep(chunk, {
      learningRate: (learningRate * correction2) / correction1,
      beta1,
      beta2,
      epsilon: epsilon * correction2,
      step: 1,
    });
  },
  advance: ({ accBeta1, accBeta2, beta1, beta2 }, natives) => {
    multiplyScalar(accBeta1, natives[0]!, beta1);
    multiplyScalar(accBeta2, natives[1]!, beta2);
  },
};
