import {
  engine,
  type GradConfig,
  type NamedAttrMap,
  type Tensor,
  type TensorInfo,
} from '@tensorflow/tfjs-core';
import type { NativeDtype } from '@acc/contract';
import { toDtype } from '../families/conversion.js';
import { kernel } from '../kernel.js';
import { pendingAs, waitingFloat32 } from '../pending/defer.js';

const CAST = 'AccCast';

interface CastAttrs {
  readonly to: NativeDtype;
  /** The native dtype that the gradient is converted back to. */
  readonly from: NativeDtype;
  /** Whether to cache the result until the weight changes. */
  readonly isWeight: boolean;
}

/** Converts a tensor to another native dtype; its tfjs dtype stays `float32`. */
export const castKernel = kernel<{ x: TensorInfo }, CastAttrs>(
  CAST,
  ({ inputs: { x }, attrs: { to, isWeight }, backend }) => {
    const narrow = to === 'bfloat16' && !isWeight ? pendingAs(backend, x, to) : undefined;
    if (narrow) return backend.wrap(narrow, 'float32');
    const wide = to === 'float32' ? waitingFloat32(backend, x) : undefined;
    if (wide) return wide;
    const native = backend.native(x);
    if (native.dtype === to) return backend.wrap(native.alias(), 'float32');
    if (!isWeight) return backend.wrap(toDtype(native, to), 'float32');
    return backend.wrap(backend.converted(x, to).alias(), 'float32');
  },
);

export const castGradient: GradConfig = {
  kernelName: CAST,
  gradFunc: (dy, _saved, attrs) => {
    const { to, from } = attrs as unknown as CastAttrs;
    return { x: () => cast(dy as Tensor, from, to) };
  },
};

/**
 * Converts `x` to the native dtype `to`; its tfjs dtype does not change. Runs on tfjs's tape.
 * Caller disposes.
 */
export function cast(x: Tensor, to: NativeDtype, from: NativeDtype, isWeight = false): Tensor {
  const attrs: CastAttrs = { to, from, isWeight };
  return engine().runKernel(CAST, { x }, attrs as unknown as NamedAttrMap) as Tensor;
}
