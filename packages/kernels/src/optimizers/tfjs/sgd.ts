import type { Scalar } from '@tensorflow/tfjs-core';
import type { FusedRule } from '../fused/fused-rule.js';
import { scalarValue } from '../fused/known-scalars.js';
import { plainSgdStep } from '../fused/sgd-step.js';

export interface SgdInside {
  /** -learningRate */
  readonly c: Scalar;
}

/** w ← w + c · g */
export const sgd: FusedRule<SgdInside> = {
  slotLists: () => [],
  update: ({ c }, part) => plainSgdStep(part, -scalarValue(c)),
};
