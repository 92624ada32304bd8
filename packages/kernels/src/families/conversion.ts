import type { DataType, TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';
import type { AccBackend } from '../backend.js';

const castTo = operator('aten::_to_copy');
const real = operator('aten::real');

const FLOATING: readonly NativeDtype[] = ['float32', 'float64', 'bfloat16', 'float16'];

/**
 * An attribute as a typed array of `dtype` would hold it. Beyond float32's range that is an infinity (tfjs clips to
 * Number.MAX_VALUE to mean "no bound"), where libtorch would throw.
 */
export function elementOf(value: number, dtype: DataType): number | boolean {
  if (dtype === 'int32') return value | 0;
  return dtype === 'bool' ? Boolean(value) : Math.fround(value);
}

/** The values of `x` as `dtype`, by libtorch's own rules. Caller disposes. */
export function toDtype(x: NativeTensor, dtype: NativeDtype): NativeTensor {
  return castTo(x, dtype);
}

/** The values of `x` in the dtype of `like`, converted only where that is another. Caller disposes. */
export function inDtypeOf(like: NativeTensor, x: NativeTensor): NativeTensor {
  return x.dtype === like.dtype ? x.alias() : toDtype(x, like.dtype);
}

/** Whether the elements have 16 bits, in which sums of many don't count beyond 256 or 2048. */
export function isShort({ dtype }: NativeTensor): boolean {
  return dtype === 'bfloat16' || dtype === 'float16';
}

/**
 * The values of `x` as JavaScript's typed arrays take them in: fractions are cut off, NaN and infinities become 0 and
 * what is out of range wraps around, where libtorch's direct conversion is undefined. Complex numbers lose their
 * imaginary part. Caller disposes.
 */
export function toElements(x: NativeTensor, dtype: DataType): NativeTensor {
  if (x.dtype === 'complex64' && dtype !== 'complex64') {
    // A copy, for a view would keep the imaginary part alive.
    using part = real(x);
    return dtype === 'float32' ? castTo(part, 'float32') : toElements(part, dtype);
  }
  if (dtype === 'int32' && FLOATING.includes(x.dtype)) {
    using whole = castTo(x, 'int64');
    return castTo(whole, 'int32');
  }
  return castTo(x, dtype as NativeDtype);
}

/** As `AccBackend.wrap`, but floating results are stored behind an integer dtype as JavaScript's typed arrays store them. */
export function wrapElements(backend: AccBackend, native: NativeTensor, dtype: DataType): TensorInfo {
  if (dtype === 'float32' || dtype === 'complex64' || !FLOATING.includes(native.dtype)) {
    return backend.wrap(native, dtype);
  }
  using held = native;
  using whole = castTo(held, 'int64');
  // tfjs keeps booleans in bytes: an infinity becomes 0 there.
  return backend.wrap(castTo(whole, dtype === 'bool' ? 'uint8' : 'int32'), dtype);
}
