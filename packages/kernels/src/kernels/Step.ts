import { Step, type StepAttrs, type StepInputs } from '@tensorflow/tfjs-core';
import { operator, operatorInPlace } from '@acc/native';
import { applyUnary, NUMBERS } from '../families/elementwise.js';
import { kernel } from '../kernel.js';

const ceil = operator('aten::ceil');
const clampInPlace = operatorInPlace('aten::clamp_');
const replaceUpTo = operatorInPlace('aten::threshold_');

/**
 * 1 above zero, NaN for NaN, else `alpha` (default 0). Takes two passes, because `heaviside` would
 * lose NaN.
 */
export const step = kernel<StepInputs, StepAttrs>(Step, ({ inputs: { x }, attrs: { alpha }, backend }) =>
  applyUnary(
    backend,
    x,
    (native) => {
      const steps = ceil(native);
      clampInPlace(steps, 0, 1);
      if (alpha !== 0) replaceUpTo(steps, 0, x.dtype === 'float32' ? alpha : Math.trunc(alpha));
      return steps;
    },
    NUMBERS,
  ),
);
