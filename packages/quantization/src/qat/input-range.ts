import {
  add,
  cast,
  clipByValue,
  concat,
  div,
  equal,
  fill,
  less,
  logicalAnd,
  max,
  maximum,
  min,
  minimum,
  mul,
  neg,
  notEqual,
  reshape,
  round,
  slice,
  stack,
  sub,
  tensor1d,
  where,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { castDtype } from '@acc/kernels';
import type { InputScale } from './fake-quantize.js';
import { MOST_PASSES } from './options.js';

// The range of the inputs of a layer is a weight that no gradient changes: [-least, largest, passes]. Both
// limits grow with the range, so one largest value over ranks makes it that of all ranks. Passes are counted
// in it, not in JavaScript, because recorded steps run no JavaScript.

/** As PyTorch's `MovingAverageMinMaxObserver` has it. */
const AVERAGE = 0.01;
/** The least scale, as PyTorch has it. */
const LEAST = 2 ** -23;
const [LOWEST, STEPS] = [-128, 255];

export interface Observing {
  readonly observer: 'minMax' | 'movingAverage';
  /** The number of passes after which the range stays. */
  readonly freezeAfter: number;
  /** The largest values over ranks. */
  readonly largest: (limits: Tensor) => Tensor;
}

export const emptyRange = (): Tensor => tensor1d([0, 0, 0]);

/** The range after a training pass with `x`. */
export function observed(range: Tensor, x: Tensor, { observer, freezeAfter, largest }: Observing): Tensor {
  const [limits, passes] = [slice(range, 0, 2), slice(range, 2, 1)];
  // Mixed precision gives layers 16-bit inputs.
  // A rank without rows takes part in the exchange.
  const own = x.size === 0 ? fill([2], -Infinity) : stack([neg(min(x)), max(x)]);
  const found = largest(castDtype(own, 'float32', 'float32'));
  const later =
    observer === 'minMax' ? maximum(limits, found) : add(limits, mul(sub(found, limits), AVERAGE));
  const isOpen = logicalAnd(less(passes, freezeAfter), notEqual(max(found), -Infinity));
  const next = where(equal(passes, 0), found, later);
  return concat([where(isOpen, next, limits), add(passes, cast(isOpen, 'float32'))]);
}

/** The range that later passes leave as it is. */
export const frozenRange = (range: Tensor): Tensor => concat([slice(range, 0, 2), tensor1d([MOST_PASSES])]);

/** Whether any training pass was observed. A scalar. */
export const isObserved = (range: Tensor): Tensor => less(0, reshape(slice(range, 2, 1), []));

/** The scale of the range, which always has 0 (PyTorch's `MinMaxObserver`, affine, qint8). */
export function inputScaleOf(range: Tensor): InputScale {
  const least = minimum(neg(reshape(slice(range, 0, 1), [])), 0);
  const largest = maximum(reshape(slice(range, 1, 1), []), 0);
  const scale = maximum(div(sub(largest, least), STEPS), LEAST);
  const zero = clipByValue(sub(LOWEST, round(div(least, scale))), LOWEST, LOWEST + STEPS);
  return { scale, zero };
}
