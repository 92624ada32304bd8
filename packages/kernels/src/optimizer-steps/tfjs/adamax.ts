import { zerosLike } from '@tensorflow/tfjs-core';
import type { AdamaxInternals } from '@acc/tfjs-internals';
import { abs, addcdiv_, addScalar, lerp_, maximum_, scale_ } from '../../list-math/foreach.js';
import type { FusedRule } from '../fused/fused-rule.js';
import { incrementScalar, multiplyScalar, scalarValue } from '../fused/known-scalars.js';

/**
 * m ← β₁ m + (1 - β₁) g; u ← max(β₂ u, |g|);
 *
 * w ← w - lr / (1 + decay · iteration) / (1 - accBeta1) · m / (u + ε).
 */
export const adamax: FusedRule<AdamaxInternals> = {
  slotLists: ({ accumulatedFirstMoment, accumulatedWeightedInfNorm }) => [
    { slots: accumulatedFirstMoment, suffix: 'm', initial: zerosLike },
    { slots: accumulatedWeightedInfNorm, suffix: 'v', initial: zerosLike },
  ],
  scalars: ({ iteration, accBeta1 }) => [iteration, accBeta1],
  update: (
    { learningRate, beta1, beta2, epsilon, decay, iteration, accBeta1 },
    { weights: w, grads: g, state: [m, u] },
  ) => {
    const rate = -learningRate / (1 + scalarValue(iteration) * decay);
    const factor = rate / Math.fround(1 - scalarValue(accBeta1));
    lerp_(m, g, 1 - beta1);
    scale_(u, beta2);
    using magnitudes = abs(g);
    maximum_(u, magnitudes.list);
    using norms = addScalar(u, epsilon);
    addcdiv_(w, m, norms.list, factor);
  },
  advance: ({ iteration, accBeta1, beta1 }, natives) => {
    incrementScalar(iteration, natives[0]!);
    multiplyScalar(accBeta1, natives[1]!, beta1);
  },
};
