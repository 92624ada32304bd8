import { ClipByValue, type ClipByValueAttrs, type ClipByValueInputs } from '@tensorflow/tfjs-core';
import { operator } from '@acc/native';
import { elementOf } from '../families/conversion.js';
import { applyUnary, NUMBERS } from '../families/elementwise.js';
import { kernel } from '../kernel.js';

const clamp = operator('aten::clamp');

const INT32_MIN = -(2 ** 31);
const INT32_MAX = 2 ** 31 - 1;

/** NaN stays NaN. An integer beyond a bound becomes the integer part of the bound. */
export const clipByValue = kernel<ClipByValueInputs, ClipByValueAttrs>(
  ClipByValue,
  ({ inputs: { x }, attrs: { clipValueMin, clipValueMax }, backend }) => {
    const isFloat = x.dtype === 'float32';
    const low = isFloat ? elementOf(clipValueMin, 'float32') : intBound(clipValueMin);
    const high = isFloat ? elementOf(clipValueMax, 'float32') : intBound(clipValueMax);
    return applyUnary(backend, x, (native) => clamp(native, low, high), NUMBERS);
  },
);

function intBound(bound: number): number {
  return Math.trunc(Math.min(Math.max(bound, INT32_MIN), INT32_MAX));
}
