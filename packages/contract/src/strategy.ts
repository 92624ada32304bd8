import type { NamedTensorMap, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from './collective.js';
import type { KernelLayer } from './kernel-layer.js';

/** What callers may ask of a strategy instead of comparing names. */
export interface StrategyTraits {
  /** Whether each rank holds all of every parameter or a part of it. */
  readonly parameters: 'replicated' | 'sharded';
  /**
   * True where reductions give gradients back as they came: then a recorded step repeats without calling them. Default
   * false.
   */
  readonly isLocal?: boolean;
}

/** What a strategy works with; given once, before anything else is called. */
export interface StrategyContext {
  readonly collective: Collective;
  readonly kernels: KernelLayer;
}

/** How parameters are held and gradients combined over the ranks of a group. */
export interface Strategy {
  readonly name: string;
  readonly traits: StrategyTraits;
  attach(context: StrategyContext): void;
  /**
   * Makes variables ready to train: ranks are compared and start from rank 0's values.
   *
   * @throws AccError `ACC_VARIABLES_DIFFER` when names, shapes or dtypes differ across ranks.
   */
  prepareVariables(variables: readonly Variable[]): void;
  /**
   * Starts the reduction of one backward pass over `variables`, all of which were prepared. Gradients are summed over
   * ranks; whoever computes them has weighted them, so that the sum is the mean.
   */
  beginReduction(variables: readonly Variable[]): GradientReduction;
  /**
   * The Euclidean norm over all ranks of gradients that `finish` gave, by the variables' names; a scalar, the same on every
   * rank. Caller disposes. Absent where every rank has all of every gradient.
   */
  globalNorm?(grads: NamedTensorMap): Tensor;
}

/** Gradients of one backward pass on their way over the ranks. */
export interface GradientReduction {
  /** The gradient of `variables[index]` is final. The reduction takes it over. */
  ready(index: number, gradLocal: Tensor): void;
  /**
   * Waits for everything and gives the gradients in the order of the variables; null where no rank had one.
   * The caller owns them.
   */
  finish(): (Tensor | null)[];
}
