import { fill } from '@tensorflow/tfjs-core';
import type { AdagradInternals } from '@acc/tfjs-internals';
import { addcdiv_, addcmul_, addScalar, sqrt_ } from '../../list-math/foreach.js';
import type { FusedRule } from '../fused/fused-rule.js';

/**
 * a ← a + g²; w ← w - lr · g / √(a + ε). libtorch's fused kernel adds ε outside the root, so it is
 * not used.
 */
export const adagrad: FusedRule<AdagradInternals> = {
  slotLists: ({ accumulatedGrads, initialAccumulatorValue }) => [
    {
      slots: accumulatedGrads,
      suffix: 'accumulator',
      initial: ({ shape }) => fill(shape, initialAccumulatorValue),
    },
  ],
  update: ({ learningRate }, { weights: w, grads: g, state: [a] }, epsilon) => {
    addcmul_(a, g, g, 1);
    using roots = addScalar(a, epsilon);
    sqrt_(roots.list);
    addcdiv_(w, g, roots.list, -learningRate);
  },
};
