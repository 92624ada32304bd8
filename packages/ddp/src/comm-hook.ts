import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';

/**
 * How gradients go over the ranks in place of a plain sum. A hook is called once for each bucket of each reduction, on all
 * ranks in the same order, while backward goes on; it calls the same collectives everywhere. An absent member means
 * that the hook has nothing of the kind.
 */
export interface CommHook {
  /** Ranks are compared by it. */
  readonly name: string;
  /**
   * Starts the sum over ranks. The result has the shape of `gradsLocal`, is the caller's, and is the same, bit for bit, on
   * every rank. It is not finite where a gradient of some rank is not.
   */
  reduce(bucket: GradientBucket): Pending<Tensor>;
  /**
   * Called on all ranks when the sums of a backward pass are there. False: one of its buckets is not finite, the same on every
   * rank, and what the hook would keep of any of them is to be forgotten. A hook that calls another one's `reduce` calls its
   * `settle`, too.
   */
  settle?(areFinite: boolean): void;
  /** What later steps depend on, for a checkpoint. */
  getState?(): CommHookState;
  /** Goes on from what {@link getState} gave; absent values begin anew. */
  setState?(state: CommHookState): void;
  /** Frees tensors that are held from step to step. */
  dispose?(): void;
}

/** Some gradients of one backward pass, one after the other in one flat tensor. */
export interface GradientBucket {
  /** Names the same variables in every step, on every rank, and in a program that goes on from a checkpoint. */
  readonly id: string;
  /**
   * Float32 of shape [elements]: this rank's gradients, weighted so that the sum over ranks is the mean; zeros for variables
   * that it did not use. The hook takes it over.
   */
  readonly gradsLocal: Tensor;
  /** What lies in `gradsLocal`, in order. */
  readonly variables: readonly BucketVariable[];
  readonly collective: Collective;
}

export interface BucketVariable {
  readonly name: string;
  readonly shape: readonly number[];
  readonly size: number;
}

/** A hook's state by name: plain values, which JSON with typed arrays can hold. */
export interface CommHookState {
  /** What is the same on every rank. */
  readonly shared: StateValues;
  /** What is this rank's own, as the error that its compression has left. */
  readonly local: StateValues;
}

export type StateValues = Readonly<Record<string, number | Float32Array>>;

export function isCommHook(value: unknown): value is CommHook {
  const candidate = value as Partial<CommHook> | null;
  return typeof value === 'object' && typeof candidate?.reduce === 'function';
}
