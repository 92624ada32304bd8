import type { SgdInternals } from '@acc/tfjs-internals';
import type { FusedRule } from '../fused/fused-rule.js';
import { scalarValue } from '../fused/known-scalars.js';
import { plainSgdStep } from '../fused/sgd-step.js';

/** w ← w + c · g */
export const sgd: FusedRule<SgdInternals> = {
  slotLists: () => [],
  update: ({ c }, chunk) => plainSgdStep(chunk, -scalarValue(c)),
};
