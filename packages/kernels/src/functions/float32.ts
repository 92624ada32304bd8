import type { NativeDtype } from '@acc/contract';
import type { Tensor as NativeTensor } from '@acc/native';
import { toDtype } from '../families/conversion.js';

/**
 * Runs `compute` on float32 inputs: 16-bit inputs are converted first, so that statistics over many
 * values keep their precision. `compute` borrows its inputs.
 */
export function inFloat32<T>(
  inputs: readonly (NativeTensor | null)[],
  compute: (inputs: readonly (NativeTensor | null)[]) => T,
): T {
  return inDtype('float32', inputs, compute);
}

/**
 * Runs `compute` on inputs of dtype `dtype`; inputs of another dtype are converted first. `compute`
 * borrows its inputs.
 */
export function inDtype<T, Input extends NativeTensor | null>(
  dtype: NativeDtype,
  inputs: readonly Input[],
  compute: (inputs: readonly Input[]) => T,
): T {
  if (inputs.every((x) => x === null || x.dtype === dtype)) return compute(inputs);
  const converted = inputs.map((x) => x && toDtype(x, dtype)) as Input[];
  try {
    return compute(converted);
  } finally {
    for (const x of converted) x?.dispose();
  }
}

/** Converts `x` to `dtype` and takes ownership of `x`. Caller disposes the result. */
export function backTo(dtype: NativeDtype, x: NativeTensor): NativeTensor {
  if (x.dtype === dtype) return x;
  using held = x;
  return toDtype(held, dtype);
}
