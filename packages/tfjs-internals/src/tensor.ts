import type { Tensor } from '@tensorflow/tfjs-core';

/** The members of tfjs-core's Tensor that are missing from its public types. */
export interface TensorInternals {
  isDisposedInternal: boolean;
  /** @throws tfjs's own error for a disposed tensor. */
  throwIfDisposed(): void;
}

export function tensorInternals(tensor: Tensor): TensorInternals {
  return tensor as unknown as TensorInternals;
}
