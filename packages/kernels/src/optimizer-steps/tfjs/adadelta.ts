import { zerosLike } from '@tensorflow/tfjs-core';
import type { AdadeltaInternals } from '@acc/tfjs-internals';
import { add_, addcmul_, addScalar, div_, mul_, scale_, sqrt_ } from '../../list-math/foreach.js';
import type { FusedRule } from '../fused/fused-rule.js';

/**
 * u = g · √(b + ε) / √(a + ε), with a and b before their updates;
 *
 * a ← ρ a + (1 - ρ) g²; b ← ρ b + (1 - ρ) u²; w ← w - lr · u.
 */
export const adadelta: FusedRule<AdadeltaInternals> = {
  slotLists: ({ accumulatedGrads, accumulatedUpdates }) => [
    { slots: accumulatedGrads, suffix: 'accum_grad', initial: zerosLike },
    { slots: accumulatedUpdates, suffix: 'accum_var', initial: zerosLike },
  ],
  update: ({ learningRate, rho, epsilon }, { weights: w, grads: g, state: [a, b] }) => {
    using updates = addScalar(b, epsilon);
    using roots = addScalar(a, epsilon);
    sqrt_(updates.list);
    sqrt_(roots.list);
    div_(updates.list, roots.list);
    mul_(updates.list, g);
    scale_(a, rho);
    addcmul_(a, g, g, 1 - rho);
    scale_(b, rho);
    addcmul_(b, updates.list, updates.list, 1 - rho);
    add_(w, updates.list, -learningRate);
  },
};
