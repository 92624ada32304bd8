import { zerosLike } from '@tensorflow/tfjs-core';
import type { MomentumInternals } from '@acc/tfjs-internals';
import type { FusedRule } from '../fused/fused-rule.js';
import { scalarValue } from '../fused/known-scalars.js';
import { momentumStep } from '../fused/sgd-step.js';

/** a ← m · a + g; w ← w + c · a, or w + c · (g + m · a) with Nesterov momentum. */
export const momentum: FusedRule<MomentumInternals> = {
  slotLists: ({ accumulations }) => [{ slots: accumulations, suffix: 'momentum', initial: zerosLike }],
  update: ({ c, m, useNesterov }, chunk) =>
    momentumStep(chunk, {
      learningRate: -scalarValue(c),
      momentum: scalarValue(m),
      nesterov: useNesterov,
    }),
};
