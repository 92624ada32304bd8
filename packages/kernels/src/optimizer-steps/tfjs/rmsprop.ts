import { zerosLike } from '@tensorflow/tfjs-core';
import type { RmsPropInternals } from '@acc/tfjs-internals';
import {
  add_,
  addcdiv_,
  addcmul_,
  addScalar,
  addScalar_,
  mul,
  scale_,
  sqrt_,
  sub_,
  type Temporaries,
  type TensorList,
} from '../../list-math/foreach.js';
import type { FusedRule } from '../fused/fused-rule.js';
import type { Slot, SlotList } from '../slots.js';

/**
 * s ← decay · s + (1 - decay) g²; a ← momentum · a + lr · g / √(s + ε); w ← w - a.
 *
 * If centered: m ← decay · m + (1 - decay) g, and the root is √(s - (m² + ε)).
 */
export const rmsprop: FusedRule<RmsPropInternals> = {
  slotLists: ({ accumulatedMeanSquares, accumulatedMoments, accumulatedMeanGrads, centered }) => {
    const list = (slots: Slot[], suffix: string): SlotList => ({ slots, suffix, initial: zerosLike });
    const lists = [list(accumulatedMeanSquares, 'rms'), list(accumulatedMoments, 'momentum')];
    return centered ? [...lists, list(accumulatedMeanGrads, 'mg')] : lists;
  },
  update: (
    { learningRate, decay, momentum, epsilon, centered },
    { weights: w, grads: g, state: [s, a, m] },
  ) => {
    scale_(s, decay);
    addcmul_(s, g, g, 1 - decay);
    if (centered) {
      scale_(m, decay);
      add_(m, g, 1 - decay);
    }
    using roots = centered ? centeredSquares(s!, m!, epsilon) : addScalar(s, epsilon);
    sqrt_(roots.list);
    scale_(a, momentum);
    addcdiv_(a, g, roots.list, learningRate);
    sub_(w, a);
  },
};

/** Computes s - (m² + ε) in this order of operations. */
function centeredSquares(meanSquares: TensorList, means: TensorList, epsilon: number): Temporaries {
  const squares = mul(means, means);
  addScalar_(squares.list, epsilon);
  scale_(squares.list, -1);
  add_(squares.list, meanSquares);
  return squares;
}
