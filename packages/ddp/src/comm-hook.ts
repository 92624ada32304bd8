import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';

/**
 * Replaces the plain sum of gradients over ranks. A hook is called once for each bucket of each
 * reduction, on all ranks in the same order, while backward continues. It must call the same
 * collectives on all ranks. Optional members may be left out.
 */
export interface CommHook {
  /** The name, by which ranks compare their hooks. */
  readonly name: string;
  /**
   * Starts the sum over ranks. The result has the shape of `gradsLocal`, and the caller owns it. It
   * is the same on every rank, bit for bit. If a gradient of any rank is not finite, the result is
   * not finite either.
   */
  reduce(bucket: GradientBucket): Pending<Tensor>;
  /**
   * Called on all ranks when all sums of a backward pass are complete. False means that one of its
   * buckets is not finite, on every rank. The hook must then discard the state that it would keep
   * from this pass. A hook that calls `reduce` of another hook must also call its `settle`.
   */
  settle?(areFinite: boolean): void;
  /** The state that later steps depend on, for a checkpoint. */
  getState?(): CommHookState;
  /** Restores the state of {@link getState}. Missing values are initialized. */
  setState?(state: CommHookState): void;
  /** Disposes the tensors that are kept between steps. */
  dispose?(): void;
}

/** Some gradients of one backward pass, concatenated in one flat tensor. */
export interface GradientBucket {
  /**
   * Identifies the same variables in every step, on every rank, and after a restart from a
   * checkpoint.
   */
  readonly id: string;
  /**
   * float32 of shape [elements]: the gradients of this rank, weighted so that the sum over ranks is
   * the mean. Zeros for variables that the rank did not use. The hook takes ownership.
   */
  readonly gradsLocal: Tensor;
  /** The variables whose gradients are in `gradsLocal`, in order. */
  readonly variables: readonly BucketVariable[];
  readonly collective: Collective;
}

export interface BucketVariable {
  readonly name: string;
  readonly shape: readonly number[];
  readonly size: number;
}

/** The state of a hook by name: plain values that JSON with typed arrays can hold. */
export interface CommHookState {
  /** Values that are the same on every rank. */
  readonly shared: StateValues;
  /** Values of this rank, such as the error that its compression left. */
  readonly local: StateValues;
}

export type StateValues = Readonly<Record<string, number | Float32Array>>;

export function isCommHook(value: unknown): value is CommHook {
  const candidate = value as Partial<CommHook> | null;
  return typeof value === 'object' && typeof candidate?.reduce === 'function';
}
