import type { TransformAttrs } from '@tensorflow/tfjs-core';
import { operator, type Tensor as NativeTensor } from '@acc/native';

const add = operator('aten::add.Tensor');
const addScalar = operator('aten::add.Scalar');
const choose = operator('aten::where.self');
const clamp = operator('aten::clamp');
const divide = operator('aten::div.Scalar');
const greater = operator('aten::gt.Scalar');
const atLeast = operator('aten::ge.Scalar');
const less = operator('aten::lt.Scalar');
const multiply = operator('aten::mul.Scalar');
const negative = operator('aten::neg');
const remainder = operator('aten::fmod.Scalar');
const subtractFrom = operator('aten::rsub.Scalar');
const truncate = operator('aten::trunc');

export type FillMode = TransformAttrs['fillMode'];

/**
 * Maps positions outside an image of `size` rows or columns, float64, to positions inside:
 * `reflect` continues [abcd] as [dcba|abcd|dcba], `wrap` as [abcd|abcd|abcd], `nearest` as
 * [aaaa|abcd|dddd]; `constant` keeps them outside. Caller disposes.
 */
export function insideBy(mode: FillMode, position: NativeTensor, size: number): NativeTensor {
  if (mode === 'constant') return position.alias();
  if (mode === 'nearest') return clamp(position, 0, size - 1);
  // Keeps NaN.
  if (size <= 1) return clamp(position, 0, 0);
  using mapped = (mode === 'reflect' ? reflected : wrapped)(position, size);
  // For positions between the end of one copy and the start of the next.
  return clamp(mapped, 0, size - 1);
}

function reflected(position: NativeTensor, size: number): NativeTensor {
  using inPeriod = remainder(position, 2 * size);
  using isBefore = less(position, 0);
  using isFarBefore = less(inPeriod, -size);
  using again = addScalar(inPeriod, 2 * size);
  using mirroredBefore = subtractFrom(inPeriod, -1);
  using before = choose(isFarBefore, again, mirroredBefore);
  using isFarBehind = atLeast(inPeriod, size);
  using mirroredBehind = subtractFrom(inPeriod, 2 * size - 1);
  using behind = choose(isFarBehind, mirroredBehind, inPeriod);
  return choose(isBefore, before, behind);
}

/** As in tfjs, the number of copies to skip is position / (size − 1), rounded towards 0. */
function wrapped(position: NativeTensor, size: number): NativeTensor {
  using isBefore = less(position, 0);
  using isBehind = greater(position, size - 1);
  using quotient = divide(position, size - 1);
  using copies = truncate(quotient);
  using back = negative(copies);
  using steps = addScalar(back, 1);
  using moves = multiply(steps, size);
  using before = add(position, moves);
  using behind = add(position, copies, -size);
  using atEnd = choose(isBehind, behind, position);
  return choose(isBefore, before, atEnd);
}
