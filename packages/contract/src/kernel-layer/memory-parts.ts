import type { Tensor } from '@tensorflow/tfjs-core';

/** Elements `begin` to `end`. */
export interface MemoryRange {
  readonly begin: number;
  readonly end: number;
}

/**
 * Memory in which tensors lie that know nothing of each other: one for all elements, and one for each
 * of some ranges. Operators that write in place may write to each of them, and so change the others.
 */
export interface DividedMemory {
  /** Whether no view of all elements, and no pending call on them, uses the memory. Parts do not count. */
  readonly isUnused: boolean;
  /** The tensor of all elements, `[n]`. The caller disposes it, or gives it back by {@link put}. */
  take(): Tensor;
  /** Takes over the tensor from {@link take}, or one that a call made of it in the same memory. */
  put(full: Tensor): void;
  /**
   * Writes values into the memory of a part, unless a clone, a view or a pending call uses it.
   *
   * @returns Whether they are written.
   */
  write(part: Tensor, values: Tensor): boolean;
  /** Frees the tensor of all elements. The memory lives as long as a part does. */
  dispose(): void;
}

/**
 * Divides the memory of a float32 tensor. Disposes `whole`. If something else uses its memory, the
 * results lie in a copy.
 *
 * @returns The memory, and a tensor `[length]` for each range, which the caller disposes.
 */
export type DivideMemory = (
  full: Tensor,
  ranges: readonly MemoryRange[],
) => { readonly memory: DividedMemory; readonly parts: Tensor[] };
