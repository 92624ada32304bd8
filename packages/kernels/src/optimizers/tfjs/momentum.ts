import { zerosLike, type Scalar } from '@tensorflow/tfjs-core';
import type { FusedRule } from '../fused/fused-rule.js';
import { scalarValue } from '../fused/known-scalars.js';
import { momentumStep } from '../fused/sgd-step.js';
import type { Slot } from '../slots.js';
import type { SgdInside } from './sgd.js';

interface MomentumInside extends SgdInside {
  /** What tfjs multiplies by; `setMomentum` leaves it as it was. */
  readonly m: Scalar;
  readonly useNesterov: boolean;
  readonly accumulations: Slot[];
}

/** a ← m · a + g; w ← w + c · a, or w + c · (g + m · a) with Nesterov's form. */
export const momentum: FusedRule<MomentumInside> = {
  slotLists: ({ accumulations }) => [{ slots: accumulations, suffix: 'momentum', initial: zerosLike }],
  update: ({ c, m, useNesterov }, part) =>
    momentumStep(part, {
      learningRate: -scalarValue(c),
      momentum: scalarValue(m),
      nesterov: useNesterov,
    }),
};
