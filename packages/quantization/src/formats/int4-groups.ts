import { operator, type Tensor } from '@acc/native';
import { cast, clampScalar, div, divScalar, round, sub } from './operators.js';

const addScaled = operator('aten::add.Tensor');

/** The numbers are 0 to 15. */
export const STEPS = 15;
/** The number whose value is the zero of its group. */
export const MIDDLE = 8;
/** The smallest scale. */
export const LEAST_INT4 = 1e-6;

/** Scales and zeros of groups, float32 `[rows, groups, 1]`, exact in bfloat16. */
export interface Int4Groups {
  readonly scales: Tensor;
  readonly zeros: Tensor;
}

/** Groups that it disposes. */
export function ownedGroups(scales: Tensor, zeros: Tensor): Int4Groups & Disposable {
  return {
    scales,
    zeros,
    [Symbol.dispose]() {
      scales.dispose();
      zeros.dispose();
    },
  };
}

/** Groups whose numbers reach from `least` to `largest`. */
export function groupsBetween(least: Tensor, largest: Tensor): Int4Groups & Disposable {
  using range = sub(largest, least);
  using even = divScalar(range, STEPS);
  using atLeast = clampScalar(even, LEAST_INT4, null);
  const scales = inShort(atLeast);
  using zeros = addScaled(least, atLeast, MIDDLE);
  return ownedGroups(scales, inShort(zeros));
}

/** The nearest numbers, uint8 in the shape of `grouped`. */
export function numbersIn(grouped: Tensor, { scales, zeros }: Int4Groups): Tensor {
  using least = addScaled(zeros, scales, -MIDDLE);
  using above = sub(grouped, least);
  using scaled = div(above, scales);
  using whole = round(scaled);
  using limited = clampScalar(whole, 0, STEPS);
  return cast(limited, 'uint8');
}

/** Rounded to bfloat16, as float32. */
export function inShort(x: Tensor): Tensor {
  using short = cast(x, 'bfloat16');
  return cast(short, 'float32');
}
