import type { NativeDtype } from '@acc/contract';

let kept: NativeDtype | undefined;

/**
 * The dtype in which kernels that compute in float32 keep tensors for their gradient in mixed
 * precision. Undefined means float32.
 */
export const keptDtype = (): NativeDtype | undefined => kept;

/** From now on, kernels keep tensors for their gradient in `dtype` where they can. */
export function keepIn(dtype: NativeDtype | undefined): void {
  kept = dtype;
}
