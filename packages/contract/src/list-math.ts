import type { Tensor } from '@tensorflow/tfjs-core';

/**
 * Arithmetic on lists of tensors of tfjs dtype float32, computed in float32, in a few calls whatever the length of the list.
 * What changes its list takes the tensors over and gives the caller their successors in the same order: the same
 * tensors where their memory could be written in place, new ones elsewhere. Nothing is read back from the device, but by `unscale`.
 */
export interface ListMath {
  /** list + factor · others, pair by pair of one shape. `others` stay the caller's. */
  add(list: readonly Tensor[], others: readonly Tensor[], factor: number): Tensor[];
  /** factor · list; a tensor as factor is a scalar and stays the caller's. */
  scale(list: readonly Tensor[], factor: number | Tensor): Tensor[];
  /** factor · list, and whether all of it is finite: one call for all, and one number read. */
  unscale(list: readonly Tensor[], factor: number): Unscaled;
  /** Each element, no less than `min` and no more than `max`. */
  clamp(list: readonly Tensor[], min: number, max: number): Tensor[];
  /** The Euclidean norm of all elements of all tensors, a scalar. Caller disposes. */
  norm(list: readonly Tensor[]): Tensor;
}

export interface Unscaled {
  readonly list: Tensor[];
  readonly isFinite: boolean;
}
