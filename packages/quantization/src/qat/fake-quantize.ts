import {
  abs,
  add,
  cast,
  clipByValue,
  clone,
  customGrad,
  div,
  greaterEqual,
  lessEqual,
  logicalAnd,
  max,
  maximum,
  min,
  mul,
  reshape,
  round,
  sub,
  sum,
  type GradSaveFunc,
  type Tensor,
} from '@tensorflow/tfjs-core';
import { castDtype } from '@acc/kernels';
import { LEAST_INT4, MIDDLE, STEPS } from '../formats/int4-groups.js';
import { LARGEST, LEAST_INT8 } from '../formats/int8.js';
import type { GroupView } from './group-view.js';

// Fake quantization: the values that the packed form has, in float32. Rounding has no gradient, so these
// operators pass gradients on as if there were no rounding, and stop those of values that are out of range
// (the straight-through estimator: Bengio et al. 2013; Jacob et al. 2018).

/** How a weight is rounded. */
export interface WeightRounding {
  readonly weights: 'int8' | 'int4';
  readonly view: GroupView;
}

/** Scales, and for int4 zeros, float32 in a view's shape of scales. */
interface Scales {
  readonly scales: Tensor;
  readonly zeros?: Tensor;
}

/** The least scale that is learned. */
const LEAST_SCALE = 1e-8;

const bounds = (weights: 'int8' | 'int4') =>
  (weights === 'int8' ? [-LARGEST, LARGEST] : [0, STEPS]) as [number, number];

/** A weight with the values of its packed form. Its scales follow the largest values of their groups. */
export function roundWeight(weight: Tensor, { weights, view }: WeightRounding): Tensor {
  const operator = customGrad((...args) => {
    const [w, save] = args as [Tensor, GradSaveFunc];
    const grouped = reshape(w, [...view.shape]);
    const scales = weights === 'int8' ? scalesOf(grouped, view.dim) : int4ScalesOf(grouped, view.dim);
    const { values, isInside } = rounded(grouped, scales, weights);
    // Scales of int8 reach over all values. Those of int4 are rounded.
    save(weights === 'int8' ? [] : [isInside()]);
    const gradFunc = (dy: Tensor, [inside]: Tensor[]) =>
      inside ? reshape(mul(reshape(dy, inside.shape), cast(inside, 'float32')), w.shape) : clone(dy);
    return { value: reshape(values, w.shape), gradFunc };
  });
  return operator(weight);
}

/**
 * The same with learned scales (Esser et al. 2020, "Learned Step Size Quantization"). The derivative of a
 * value by its scale is q - w/s, and q where the value is out of range. Their sum is divided by √(N · Q): N is
 * the number of values that share a scale, and Q the largest number.
 */
export function roundByLearned(weight: Tensor, scales: Tensor, { weights, view }: WeightRounding): Tensor {
  const operator = customGrad((...args) => {
    const [w, s, save] = args as unknown as [Tensor, Tensor, GradSaveFunc];
    save([w, s]);
    const grouped = reshape(w, [...view.shape]);
    const { values } = rounded(grouped, { scales: usableScales(s, weights) }, weights);
    const gradFunc = (dy: Tensor, saved: Tensor[]) => learnedGradients(dy, saved, { weights, view });
    return { value: reshape(values, w.shape), gradFunc };
  });
  return operator(weight, scales);
}

function learnedGradients(dy: Tensor, [w, s]: Tensor[], { weights, view }: WeightRounding): Tensor[] {
  const grouped = reshape(w!, [...view.shape]);
  const scales = usableScales(s!, weights);
  const { numbers, isInside } = rounded(grouped, { scales }, weights);
  const inside = cast(isInside(), 'float32');
  const given = reshape(dy, [...view.shape]);
  const slopes = sub(numbers, mul(inside, div(grouped, scales)));
  const factor = 1 / Math.sqrt(view.count * largestNumber(weights));
  return [reshape(mul(given, inside), w!.shape), mul(sum(mul(given, slopes), view.dim, true), factor)];
}

/** The scales that a learned weight stands for: positive, and for int4 exact in bfloat16. */
export function usableScales(scales: Tensor, weights: 'int8' | 'int4'): Tensor {
  return weights === 'int8' ? maximum(scales, LEAST_SCALE) : inShort(maximum(scales, LEAST_INT4));
}

/** The scales with which learning begins: 2 · mean |w| / √Q (Esser et al. 2020). */
export function firstScales(weight: Tensor, { weights, view }: WeightRounding): Tensor {
  const magnitudes = sum(abs(reshape(weight, [...view.shape])), view.dim, true);
  return usableScales(mul(magnitudes, 2 / view.count / Math.sqrt(largestNumber(weights))), weights);
}

const largestNumber = (weights: 'int8' | 'int4'): number => (weights === 'int8' ? LARGEST : STEPS - MIDDLE);

/** Rows of `x`, along its last dim, each rounded to int8 by its largest magnitude. */
export function roundRows(x: Tensor): Tensor {
  const operator = customGrad((given) => {
    const rows = given as Tensor;
    const { values } = rounded(rows, scalesOf(rows, rows.rank - 1), 'int8');
    return { value: values, gradFunc: (dy: Tensor) => clone(dy) };
  });
  return operator(x);
}

/** A scale, and the number whose value is 0: scalars. */
export interface InputScale {
  readonly scale: Tensor;
  readonly zero: Tensor;
}

/** `x` rounded to int8, with numbers from -128 to 127: PyTorch's `fake_quantize_per_tensor_affine`. */
export function roundInput(x: Tensor, { scale, zero }: InputScale): Tensor {
  const operator = customGrad((...args) => {
    const [given, save] = args as [Tensor, GradSaveFunc];
    const numbers = add(round(div(given, scale)), zero);
    save([between(numbers, -LARGEST - 1, LARGEST)]);
    const value = mul(sub(clipByValue(numbers, -LARGEST - 1, LARGEST), zero), scale);
    return { value, gradFunc: (dy: Tensor, [inside]: Tensor[]) => mul(dy, cast(inside!, 'float32')) };
  });
  return operator(x);
}

interface Rounded {
  readonly values: Tensor;
  /** Signed: those of int4 are from -8 to 7. */
  readonly numbers: Tensor;
  readonly isInside: () => Tensor;
}

function rounded(grouped: Tensor, { scales, zeros }: Scales, weights: 'int8' | 'int4'): Rounded {
  const [least, largest] = bounds(weights);
  if (weights === 'int8') {
    const whole = round(div(grouped, scales));
    const numbers = clipByValue(whole, least, largest);
    return { numbers, values: mul(numbers, scales), isInside: () => between(whole, least, largest) };
  }
  // As int4-groups.ts has it, so that no value is rounded another way when it is packed.
  const lowest = zeros ? sub(zeros, mul(scales, MIDDLE)) : mul(scales, -MIDDLE);
  const whole = round(div(sub(grouped, lowest), scales));
  const numbers = sub(clipByValue(whole, least, largest), MIDDLE);
  const scaled = mul(numbers, scales);
  return {
    numbers,
    values: zeros ? add(zeros, scaled) : scaled,
    isInside: () => between(whole, least, largest),
  };
}

const between = (x: Tensor, least: number, largest: number): Tensor =>
  logicalAnd(greaterEqual(x, least), lessEqual(x, largest));

/** See `Int8Matrix`. */
function scalesOf(grouped: Tensor, dim: number): Scales {
  return { scales: div(maximum(max(abs(grouped), dim, true), LEAST_INT8), LARGEST) };
}

/** See `groupsBetween` of int4. */
function int4ScalesOf(grouped: Tensor, dim: number): Scales {
  const least = min(grouped, dim, true);
  const even = maximum(div(sub(max(grouped, dim, true), least), STEPS), LEAST_INT4);
  return { scales: inShort(even), zeros: inShort(add(least, mul(even, MIDDLE))) };
}

/** Rounded to bfloat16, as float32. */
function inShort(x: Tensor): Tensor {
  return castDtype(castDtype(x, 'bfloat16', 'float32'), 'float32', 'bfloat16');
}
