import type { DataType, TensorInfo } from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { operator, type Tensor as NativeTensor } from '@acc/native';

const castTo = operator('aten::_to_copy');
const real = operator('aten::real');

const FLOATING: readonly NativeDtype[] = ['float32', 'float64', 'bfloat16', 'float16'];

/**
 * An attribute as a typed array of `dtype` stores it. A value beyond float32's range becomes an
 * infinity, where libtorch would throw (tfjs clips to Number.MAX_VALUE to mean "no bound").
 */
export function elementOf(value: number, dtype: DataType): number | boolean {
  if (dtype === 'int32') return value | 0;
  return dtype === 'bool' ? Boolean(value) : Math.fround(value);
}

/** Converts `x` to `dtype` by libtorch's rules. Caller disposes. */
export function toDtype(x: NativeTensor, dtype: NativeDtype): NativeTensor {
  return castTo(x, dtype);
}

/** Converts `x` to the dtype of `like` if the dtypes differ. Caller disposes. */
export function inDtypeOf(like: NativeTensor, x: NativeTensor): NativeTensor {
  return x.dtype === like.dtype ? x.alias() : toDtype(x, like.dtype);
}

/**
 * Whether the elements have 16 bits. A running sum of ones stops growing at 256 (bfloat16) or 2048
 * (float16).
 */
export function isShort({ dtype }: NativeTensor): boolean {
  return dtype === 'bfloat16' || dtype === 'float16';
}

/**
 * Converts `x` as JavaScript's typed arrays do: fractions are cut off, NaN and infinities become 0,
 * and values out of range wrap around. libtorch's direct conversion is undefined in these cases.
 * Complex numbers lose their imaginary part. Caller disposes.
 */
export function toElements(x: NativeTensor, dtype: DataType): NativeTensor {
  if (x.dtype === 'complex64' && dtype !== 'complex64') {
    // A copy, because a view would keep the imaginary part in memory.
    using part = real(x);
    return dtype === 'float32' ? castTo(part, 'float32') : toElements(part, dtype);
  }
  if (dtype === 'int32' && FLOATING.includes(x.dtype)) {
    using full = castTo(x, 'int64');
    return castTo(full, 'int32');
  }
  return castTo(x, dtype as NativeDtype);
}

/** A backend, which makes tensors of native ones. */
interface Wraps {
  wrap(native: NativeTensor, dtype: DataType): TensorInfo;
}

/**
 * Like `AccBackend.wrap`, but converts floating results to an integer dtype as JavaScript's typed
 * arrays do.
 */
export function wrapElements(backend: Wraps, native: NativeTensor, dtype: DataType): TensorInfo {
  if (dtype === 'float32' || dtype === 'complex64' || !FLOATING.includes(native.dtype)) {
    return backend.wrap(native, dtype);
  }
  using held = native;
  using full = castTo(held, 'int64');
  // tfjs stores booleans in bytes, in which an infinity becomes 0.
  return backend.wrap(castTo(full, dtype === 'bool' ? 'uint8' : 'int32'), dtype);
}
