import type { NativeDtype } from '@acc/contract';

let kept: NativeDtype | undefined;

/** In mixed precision: what kernels that compute in float32 keep for their gradient. Undefined: float32. */
export const keptDtype = (): NativeDtype | undefined => kept;

/** From now on kernels keep what they can in `dtype`. */
export function keepIn(dtype: NativeDtype | undefined): void {
  kept = dtype;
}
