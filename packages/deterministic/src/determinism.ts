import type { Tensor } from '@tensorflow/tfjs-core';
import type { BatchRows, Collective, KernelLayer, Plugin, Strategy } from '@acc/contract';

/**
 * Makes weights the same, bit for bit, on any number of ranks. It wraps the kernels of the active
 * backend until `end`.
 */
export interface Determinism {
  readonly plugin: Plugin;
  /** The wrapped layer. Its random state now determines the numbers that random operators draw. */
  readonly kernels: KernelLayer;
  /** Wraps `collective`. Its sums continue the summation tree of each rank. */
  collective(collective: Collective): Collective;
  /** Wraps `strategy`, which then gets the sums over this rank's rows. */
  strategy(strategy: Strategy): Strategy;
  /**
   * Called before a batch is passed to the loop, or with undefined at the end. Computation on those
   * of `tensors` that have the batch's rows is tracked.
   *
   * @throws AccError `ACC_DETERMINISTIC_ROWS`.
   */
  beginBatch(batch: BatchRows | undefined, tensors?: readonly Tensor[]): void;
  /** @throws AccError `ACC_DETERMINISTIC_ROWS` for batches whose rows cannot be divided equally. */
  requireRows(batch: BatchRows): void;
  /** Runs a computation that every rank does with all of its data, such as validation. */
  alike<T>(compute: () => T): T;
  /** Restores the kernels of the backend. */
  end(): void;
}
