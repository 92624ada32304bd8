import type { DataType, Tensor } from '@tensorflow/tfjs-core';

/**
 * A tensor whose values come when an operator or a read needs them, and whose memory can be freed
 * again. For parameters that a rank does not hold whole.
 */
export interface DeferredTensor {
  /**
   * Has shape and dtype. A tidy frees it, as any tensor. Clones, reshaped tensors and variables that it is assigned to
   * share its values, whether they are in memory or not. The caller disposes it.
   */
  readonly tensor: Tensor;
  /** Whether the values are in memory. */
  readonly isFilled: boolean;
  /** The number of tensors that share the values, including {@link tensor}; 0 if none is left. */
  readonly holders: number;
  /**
   * Gives the tensor the elements of `values` from `begin` on, in row-major order. `values` keeps
   * its owner. Memory is shared where the backend can. Operators never write into it.
   *
   * @param begin Default 0. If `values` has more elements than the tensor, it is flat: `[n]`.
   */
  fill(values: Tensor, begin?: number): void;
  /** Frees the values. The next use loads them again. */
  release(): void;
  /** A tensor with the values of `held`; undefined if there was none. The caller disposes it. */
  held(): Tensor | undefined;
}

export interface DeferredInfo {
  readonly shape: readonly number[];
  readonly dtype: DataType;
  /**
   * A tensor whose memory lives as long as the deferred values, such as the shard that they are
   * loaded from. The call disposes it.
   */
  readonly held?: Tensor;
  /**
   * Has the element type of the values, which is then known without them. The call borrows it.
   */
  readonly like?: Tensor;
  /**
   * Gives the values for one read into JavaScript, such as `dataSync`, of a tensor that is not in
   * memory. The call disposes them, so that the read keeps nothing. If it gives undefined, or is
   * absent, a read loads values as an operator does.
   */
  readonly readOnce?: (() => Tensor | undefined) | undefined;
}

/**
 * Creates a deferred tensor on the backend, without memory.
 *
 * @param load Called when values are needed that are not in memory. It calls `fill`, or throws. It
 * may run operators, but within a kernel: what it makes must not be on the tape.
 */
export type Defer = (info: DeferredInfo, load: () => void) => DeferredTensor;
