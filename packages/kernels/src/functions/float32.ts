import type { NativeDtype } from '@acc/contract';
import type { Tensor as NativeTensor } from '@acc/native';
import { toDtype } from '../families/conversion.js';

/**
 * Runs `compute` on float32: 16-bit inputs are converted for it, so that statistics over many values keep their precision.
 * What `compute` gets is borrowed.
 */
export function inFloat32<T>(
  inputs: readonly (NativeTensor | null)[],
  compute: (inputs: readonly (NativeTensor | null)[]) => T,
): T {
  if (inputs.every((x) => x === null || x.dtype === 'float32')) return compute(inputs);
  const converted = inputs.map((x) => x && toDtype(x, 'float32'));
  try {
    return compute(converted);
  } finally {
    for (const x of converted) x?.dispose();
  }
}

/** `x` as `dtype`; takes it over. Caller disposes the result. */
export function backTo(dtype: NativeDtype, x: NativeTensor): NativeTensor {
  if (x.dtype === dtype) return x;
  using held = x;
  return toDtype(held, dtype);
}
