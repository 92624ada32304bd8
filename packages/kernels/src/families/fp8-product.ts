import { FACTOR_ROLES, ROLES_OF, type FactorRole, type Float8Rounding } from '@acc/contract';
import { operator, operatorInPlace, type Tensor as NativeTensor } from '@acc/native';
import type { EightBits } from './matmul-inputs.js';
import { product } from './product.js';

// Products of matrices that are rounded to floats of 8 bits, as torchao trains with them (torchao.float8, 0.18);
// delayed scales are those of Transformer Engine.

const absolute = operator('aten::abs');
const largest = operator('aten::amax');
const greater = operator('aten::gt.Scalar');
const where = operator('aten::where.self');
const clamp_ = operatorInPlace('aten::clamp_');
const clampMin_ = operatorInPlace('aten::clamp_min_');
const reciprocal_ = operatorInPlace('aten::reciprocal_');
const scale_ = operatorInPlace('aten::mul_.Scalar');
const multiply_ = operatorInPlace('aten::mul_.Tensor');
const log2_ = operatorInPlace('aten::log2_');
const floor_ = operatorInPlace('aten::floor_');
const exp2_ = operatorInPlace('aten::exp2_');
const toDtype = operator('aten::_to_copy');
const transpose = operator('aten::t');
const contiguous = operator('aten::contiguous');
const pad = operator('aten::constant_pad_nd');
const narrow = operator('aten::narrow');
const onesLike = operator('aten::ones_like');
const scaledProduct = operator('aten::_scaled_mm');

type Float8 = 'e4m3' | 'e5m2';
const DTYPES = { e4m3: 'float8_e4m3fn', e5m2: 'float8_e5m2' } as const;
/** The largest number of each type. */
const MAXIMA: Readonly<Record<Float8, number>> = { e4m3: 448, e5m2: 57_344 };
/** The least magnitude that a scale is computed from, as in torchao: zeros have a finite scale. */
const EPSILON = 1e-12;
/** Tensor cores need sizes that are multiples of it. */
const SIZE = 16;

export interface Float8ProductOptions {
  readonly transposeA: boolean;
  readonly transposeB: boolean;
  readonly eightBits: EightBits & Float8Rounding;
  readonly dtype: 'bfloat16' | 'float32';
  /** The history that scales come from. Undefined: they come from the factors. */
  readonly amaxes?: NativeTensor | undefined;
  /** Whether 8-bit floats are multiplied as float32, for devices without products of them. */
  readonly isEmulated: boolean;
}

/**
 * The product of two matrices, each rounded to floats of 8 bits: e4m3, or the type of the option for the
 * gradient of a result. The scale of a tensor or a row is the largest number of the type divided by the
 * largest magnitude. Sums are float32. Caller disposes.
 */
export function fp8Product(a: NativeTensor, b: NativeTensor, options: Float8ProductOptions): NativeTensor {
  const sum =
    a.shape.includes(0) || b.shape.includes(0) ? emptyProduct(a, b, options) : scaled(a, b, options);
  if (sum.dtype === options.dtype) return sum;
  using wide = sum;
  return toDtype(wide, options.dtype);
}

/** There is nothing to round. */
function emptyProduct(a: NativeTensor, b: NativeTensor, options: Float8ProductOptions): NativeTensor {
  using left = toDtype(a, 'float32');
  using right = toDtype(b, 'float32');
  return product(left, right, null, options.transposeA, options.transposeB, 'linear');
}

function scaled(a: NativeTensor, b: NativeTensor, options: Float8ProductOptions): NativeTensor {
  if (!options.isEmulated) return byInstructions(a, b, options);
  const { transposeA, transposeB } = options;
  using left = roundedFactor('a', a, options);
  using right = roundedFactor('b', b, options);
  using first = toDtype(left.values, 'float32');
  using second = toDtype(right.values, 'float32');
  const sum = product(first, second, null, transposeA, transposeB, 'linear');
  rescale(sum, left, right);
  return sum;
}

/** Multiplies a sum by both scales. */
function rescale(sum: NativeTensor, left: Rounded, right: Rounded): void {
  multiply_(sum, left.inverse);
  multiply_(sum, right.inverse);
}

/** A factor in 8 bits, as it is stored, and what its numbers are to be multiplied by: `[m, 1]`, `[1, n]` or `[1, 1]`. */
interface Rounded extends Disposable {
  readonly values: NativeTensor;
  readonly inverse: NativeTensor;
}

function roundedFactor(
  factor: 'a' | 'b',
  x: NativeTensor,
  { transposeA, transposeB, eightBits, amaxes }: Float8ProductOptions,
): Rounded {
  const isTurned = factor === 'a' ? transposeA : transposeB;
  const role = ROLES_OF[eightBits.product][factor === 'a' ? 0 : 1];
  const type = role === 'gradient' ? eightBits.gradients : 'e4m3';
  // Scales are taken along the dim that is summed.
  const summed = (factor === 'a') === isTurned ? 0 : 1;
  using most = largestOf(x, eightBits.recipe === 'tensorwise' ? [0, 1] : [summed]);
  using amax = amaxes ? earlierOr(most, amaxes, role) : most.alias();
  using scale = scaleOf(amax, type, eightBits);
  using wide = toDtype(x, 'float32');
  multiply_(wide, scale);
  // Numbers may be larger than those of earlier steps.
  if (amaxes) clamp_(wide, -MAXIMA[type], MAXIMA[type]);
  const values = toDtype(wide, DTYPES[type]);
  reciprocal_(scale);
  const inverse = isTurned ? transpose(scale) : scale.alias();
  return {
    values,
    inverse,
    [Symbol.dispose]() {
      values.dispose();
      inverse.dispose();
    },
  };
}

function largestOf(x: NativeTensor, dims: readonly number[]): NativeTensor {
  using magnitudes = absolute(x);
  return largest(magnitudes, dims, true);
}

/** The largest magnitude of earlier steps. In the first step there is none. */
function earlierOr(most: NativeTensor, amaxes: NativeTensor, role: FactorRole): NativeTensor {
  using row = narrow(amaxes, 0, FACTOR_ROLES.indexOf(role), 1);
  using earlier = narrow(row, 1, 1, amaxes.shape[1]! - 1);
  using amax = largest(earlier, [0, 1], true);
  using isAny = greater(amax, 0);
  using wide = toDtype(most, 'float32');
  return where(isAny, amax, wide);
}

/** The factor of numbers before they are rounded. It is computed in float64, as in torchao. */
function scaleOf(amax: NativeTensor, type: Float8, { powerOfTwoScales }: Float8Rounding): NativeTensor {
  using exact = toDtype(amax, 'float64');
  clampMin_(exact, EPSILON);
  reciprocal_(exact);
  scale_(exact, MAXIMA[type]);
  const scale = toDtype(exact, 'float32');
  if (!powerOfTwoScales) return scale;
  log2_(scale);
  floor_(scale);
  exp2_(scale);
  return scale;
}

/** The device multiplies 8-bit floats itself. Sizes that are no multiples of 16 get zeros. */
function byInstructions(a: NativeTensor, b: NativeTensor, options: Float8ProductOptions): NativeTensor {
  const { transposeA, transposeB, eightBits, dtype } = options;
  const columns = b.shape[transposeB ? 0 : 1]!;
  using fullA = padded(a, transposeA ? [true, false] : [false, true]);
  using fullB = padded(b, [true, true]);
  using left = roundedFactor('a', fullA, options);
  using right = roundedFactor('b', fullB, options);
  using rows = inRows(left.values, transposeA);
  // The second factor must be stored by columns.
  using turned = inRows(right.values, !transposeB);
  using second = transpose(turned);
  // The result is rounded after its scales, but kernels with scales by row give bfloat16 and add less exactly:
  // torchao uses them forward only.
  const isForward = eightBits.product === 'forward';
  const isScaledLater = eightBits.recipe === 'rowwise' && !isForward;
  using scaleA = isScaledLater ? oneLike(left.inverse) : left.inverse.alias();
  using scaleB = isScaledLater ? oneLike(right.inverse) : right.inverse.alias();
  const type = isScaledLater ? 'float32' : dtype;
  const sum = scaledProduct(rows, second, scaleA, scaleB, null, null, type, isForward);
  if (isScaledLater) rescale(sum, left, right);
  if (sum.shape[1] === columns) return sum;
  using whole = sum;
  using part = narrow(whole, 1, 0, columns);
  return contiguous(part);
}

/** A scale of 1 for a whole tensor. */
function oneLike(x: NativeTensor): NativeTensor {
  using part = narrow(x, x.shape[0] === 1 ? 1 : 0, 0, 1);
  return onesLike(part);
}

function inRows(x: NativeTensor, isTurned: boolean): NativeTensor {
  using turned = isTurned ? transpose(x) : x.alias();
  return contiguous(turned);
}

/** Zeros at the end of the dims that are to be multiples of 16. */
function padded(x: NativeTensor, [padsRows, padsColumns]: readonly [boolean, boolean]): NativeTensor {
  const missing = (isPadded: boolean, size: number) => (isPadded ? (SIZE - (size % SIZE)) % SIZE : 0);
  const rows = missing(padsRows, x.shape[0]!);
  const columns = missing(padsColumns, x.shape[1]!);
  return rows + columns === 0 ? x.alias() : pad(x, [0, columns, 0, rows], 0);
}
