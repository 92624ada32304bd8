import type { Tensor } from '@tensorflow/tfjs-core';

/**
 * Arithmetic on lists of float32 tensors, in a few native calls whatever the length of the list.
 * Methods that change a list take ownership of its tensors, and return their replacements in the
 * same order. These are the same tensors if they could be written in place, otherwise new ones.
 * Only `unscale` reads from the device.
 */
export interface ListMath {
  /**
   * Computes list + factor · others, pairwise. Each pair must have one shape. The caller still owns
   * `others`.
   *
   * @param isOwn Whether `list` is what an earlier call returned, and nobody has shared it since. A
   * recorded step then writes into its memory, too. Default false.
   */
  add(list: readonly Tensor[], others: readonly Tensor[], factor: number, isOwn?: boolean): Tensor[];
  /**
   * Runs `product`, which computes one matrix product and returns its result, so that the product is
   * added to `sum` in place: it is neither stored nor read again. Nothing else may hold the memory of
   * `sum`.
   *
   * @returns A tensor that shares the data of `sum`, or the product alone if it cannot be added so.
   * Absent: it never can.
   */
  addProduct?(sum: Tensor, product: () => Tensor): Tensor;
  /**
   * Computes factor · list. A factor that is a tensor must be a scalar, and the caller still owns
   * it.
   */
  scale(list: readonly Tensor[], factor: number | Tensor): Tensor[];
  /**
   * Computes factor · list and whether all elements are finite, with one native call and one read.
   */
  unscale(list: readonly Tensor[], factor: number): Unscaled;
  /** Clamps each element to the range from `min` to `max`. */
  clamp(list: readonly Tensor[], min: number, max: number): Tensor[];
  /** The Euclidean norm of all elements of all tensors, as a scalar. The caller disposes it. */
  norm(list: readonly Tensor[]): Tensor;
}

export interface Unscaled {
  readonly list: Tensor[];
  readonly isFinite: boolean;
}
