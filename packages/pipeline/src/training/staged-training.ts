import type { Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';

/**
 * The weight of a rank's loss relative to the losses of other ranks. `items`: the loss is a mean
 * over that many items. `isNaN`: it was given for no items, and is NaN. `sum`: the loss is a sum, so
 * gradients of ranks are added.
 */
export type LossWeight = { readonly items: number; readonly isNaN?: boolean } | 'sum';

/** The weights of losses. */
interface LossWeights {
  /** Notes the weights of losses that `fn` computes. */
  watching<T>(fn: () => T): T;
  /** The weight of a loss of so many rows. Undefined: by rows. */
  weightOf(loss: Tensor, rows: number): LossWeight | undefined;
  /** @throws AccError for a weight that is a tensor where ranks need a number before backward. */
  requireNumber(weight: LossWeight | undefined): void;
  /** States the weight of a loss. */
  note(loss: Tensor, weight: LossWeight): void;
}

/** Gradients of a step on their way over the ranks. */
interface GradientSession {
  /** The factor of the gradients, with the loss scale. */
  readonly weight: number;
  /** The number of items of all ranks. */
  readonly unit: number;
  /** Takes over the gradient of a variable. */
  ready(index: number, grad: Tensor): void;
  /** Waits for all gradients. */
  finish(): readonly (Tensor | null)[];
}

/** The part of a training step that a step in stages uses. `core` has the whole. */
export interface StagedTraining {
  readonly sync: { readonly isLocal: boolean; readonly isOff: boolean };
  /** The factor by which gradients are scaled in backward. */
  readonly lossScale: number;
  /** The ranks whose losses a backward pass mixes. */
  readonly mixedRanks: Collective | undefined;
  /** The rows of this rank and of all ranks. */
  readonly rowCounts: { readonly own: number; readonly all: number };
  /** The rows of each rank in the last batch of prepared data. */
  readonly batch: { readonly rows: readonly number[] } | undefined;
  readonly names: { ofOptimizer<T>(optimizer: Optimizer, compute: () => T): T };
  readonly lossItems: LossWeights;
  /** Begins to reduce gradients of variables for a loss. Undefined if they stay local. */
  begin(variables: readonly Variable[], loss: Tensor): GradientSession | undefined;
}
