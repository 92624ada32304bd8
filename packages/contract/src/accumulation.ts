import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { GradientReduction } from './strategy.js';

/** How many items, samples unless the loss says otherwise, a gradient is the mean over. */
export interface ItemCounts {
  /** Items of this rank. */
  readonly own: number;
  /** Items of all ranks; undefined where only the ranks themselves know. */
  readonly all: number | undefined;
  /** Samples of all ranks; undefined in a loop that feeds itself. */
  readonly samples: number | undefined;
}

/** Of several passes together. */
export function sumOfCounts(a: ItemCounts, b: ItemCounts): ItemCounts {
  const sum = (x: number | undefined, y: number | undefined) =>
    x === undefined || y === undefined ? undefined : x + y;
  return { own: a.own + b.own, all: sum(a.all, b.all), samples: sum(a.samples, b.samples) };
}

/**
 * Slot `collect`: gradients of micro-batches are held back and added up, until the micro-batch that closes their window gives
 * them all to the reduction. Outside a micro-batch nothing is held.
 */
export interface GradientAccumulation {
  /** Micro-batches of a window. */
  readonly steps: number;
  /** The micro-batch that runs does not close its window. */
  readonly isHolding: boolean;
  /** A micro-batch runs, and windows have several. */
  readonly isInWindow: boolean;
  /** Whether the last micro-batch, or the one that runs, closes its window; true before the first. */
  readonly closesWindow: boolean;
  /**
   * Runs one micro-batch, to the end of the promise where `fn` returns one.
   *
   * @param isLast Closes the window, full or not.
   * @throws AccError `ACC_ACCUMULATE_NESTED`.
   */
  run<T>(fn: () => T, isLast: boolean): T;
  /** A backward pass whose gradients, means over this rank's items, are held. `finish` gives them to the caller as they came. */
  hold(variables: readonly Variable[], counts: ItemCounts): GradientReduction;
  /** What such passes of the window have left, which the caller gives to a reduction; undefined for nothing. */
  take(variables: readonly Variable[]): HeldGradients | undefined;
  /** Forgets what is held, and the window. */
  reset(): void;
  /** Where in its window it is, and what is held; between micro-batches. The tensors stay its own. */
  getState(): AccumulationState;
  /** Goes on from such a state; what was held is forgotten. The tensors stay the caller's. */
  setState(state: AccumulationState): void;
}

/** A window that has begun. */
export interface AccumulationState {
  /** Micro-batches since the last window closed. */
  readonly done: number;
  readonly held: readonly HeldPasses[];
}

/** Gradients of the same variables, summed over passes. */
export interface HeldPasses {
  readonly variables: readonly Variable[];
  /** How many passes over the same variables come before it in a micro-batch. */
  readonly place: number;
  readonly counts: ItemCounts;
  /** Items that the sums are in units of; 0 before there was any. */
  readonly unit: number;
  /** For each variable; null where there was no gradient. */
  readonly sums: readonly (Tensor | null)[];
}

/** The sum of gradients that were held. */
export interface HeldGradients {
  /** Of all passes together. */
  readonly counts: ItemCounts;
  /**
   * `reduction` which is also given what is held.
   *
   * @param factor What each item's gradient counts: 1 / the items of the whole window.
   */
  joinedTo(reduction: GradientReduction, factor: number): GradientReduction;
}
