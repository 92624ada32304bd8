import type { Tensor } from '@tensorflow/tfjs-core';
import type { Collective } from './collective.js';
import type { KernelLayer } from './kernel-layer.js';
import type { Plugin } from './plugin.js';
import type { BatchRows, Strategy } from './strategy.js';

/** What makes weights the same, bit for bit, on any number of ranks. It holds the active backend until `end`. */
export interface Determinism {
  readonly plugin: Plugin;
  /** The layer under it, whose random state is now what random operators draw by. */
  readonly kernels: KernelLayer;
  /** `collective` with sums in an order that goes on where those of one rank end. */
  collective(collective: Collective): Collective;
  /** `strategy`, which is given what this rank's rows add up to. */
  strategy(strategy: Strategy): Strategy;
  /**
   * A batch is about to be given to the loop, or there is none any more. Of `tensors` those that have its rows are followed through
   * what is computed from them.
   *
   * @throws AccError `ACC_DETERMINISTIC_ROWS`.
   */
  beginBatch(batch: BatchRows | undefined, tensors?: readonly Tensor[]): void;
  /** @throws AccError `ACC_DETERMINISTIC_ROWS` for batches with rows that cannot be shared equally. */
  requireRows(batch: BatchRows): void;
  /** Runs what every rank does alike with all of its data, as validation. */
  alike<T>(compute: () => T): T;
  /** Gives the backend its own ways back. */
  end(): void;
}
