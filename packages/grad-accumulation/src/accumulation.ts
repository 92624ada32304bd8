import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { GradientReduction } from '@acc/contract';

/**
 * The number of items over which a gradient is a mean. Items are samples unless the loss specifies
 * otherwise.
 */
export interface ItemCounts {
  /** The items of this rank. */
  readonly own: number;
  /** The items of all ranks. Undefined if each rank only knows its own. */
  readonly all: number | undefined;
  /** The samples of all ranks. Undefined without prepared data. */
  readonly samples: number | undefined;
}

/** The counts of several passes together. */
export function sumOfCounts(a: ItemCounts, b: ItemCounts): ItemCounts {
  const sum = (x: number | undefined, y: number | undefined) =>
    x === undefined || y === undefined ? undefined : x + y;
  return { own: a.own + b.own, all: sum(a.all, b.all), samples: sum(a.samples, b.samples) };
}

/**
 * Slot `collect`: holds and adds up the gradients of micro-batches. The micro-batch that closes
 * their window passes them to the reduction. Outside a micro-batch nothing is held.
 */
export interface GradientAccumulation {
  /** The number of micro-batches in a window. */
  readonly steps: number;
  /** Whether a micro-batch runs that does not close its window. */
  readonly isHolding: boolean;
  /** Whether a micro-batch runs and windows have several. */
  readonly isInWindow: boolean;
  /** Whether the last or current micro-batch closes its window. True before the first. */
  readonly closesWindow: boolean;
  /**
   * Runs one micro-batch. If `fn` returns a promise, the micro-batch ends when the promise settles.
   *
   * @param isLast Closes the window even if it is not full.
   * @throws AccError `ACC_ACCUMULATE_NESTED`.
   */
  run<T>(fn: () => T, isLast: boolean): T;
  /**
   * Begins a micro-batch, as {@link run} does. Call the result at its end; more calls do nothing.
   *
   * @throws AccError `ACC_ACCUMULATE_NESTED`.
   */
  begin(isLast: boolean): () => void;
  /** Tells which of the next `count` micro-batches close a window. Call it between micro-batches. */
  upcoming(count: number, isLast: boolean): boolean[];
  /**
   * Begins a backward pass whose gradients are held. `finish` returns the gradients of this pass
   * unchanged.
   *
   * @param unit The gradients are sums over items, divided by this number. Default: the number of
   * this rank's items, so they are means over them.
   * @throws AccError `ACC_ACCUMULATE_VARIABLES` if earlier micro-batches of the window trained some of
   * these variables together with others.
   */
  hold(variables: readonly Variable[], counts: ItemCounts, unit?: number): GradientReduction;
  /**
   * Takes the gradients that such passes of the window have left, for a reduction. Undefined if
   * there are none.
   *
   * @throws AccError `ACC_ACCUMULATE_VARIABLES`, see {@link hold}.
   */
  take(variables: readonly Variable[]): AccumulatedGradients | undefined;
  /** Discards the held gradients and begins a new window. */
  reset(): void;
  /**
   * The position in the window and the held gradients. Call it between micro-batches. This object
   * still owns the tensors.
   */
  getState(): AccumulationState;
  /** Restores a state and discards the gradients held before. The caller still owns the tensors. */
  setState(state: AccumulationState): void;
}

/** The state of an open window. */
export interface AccumulationState {
  /** The number of micro-batches since the last window closed. */
  readonly done: number;
  readonly held: readonly AccumulatedPasses[];
}

/** Gradients of the same variables, summed over passes. */
export interface AccumulatedPasses {
  readonly variables: readonly Variable[];
  /** The number of earlier passes over the same variables in a micro-batch. */
  readonly place: number;
  readonly counts: ItemCounts;
  /** The number of items that is the unit of the sums. 0 before the first pass. */
  readonly unit: number;
  /** The sum for each variable. Null if there was no gradient. */
  readonly sums: readonly (Tensor | null)[];
}

/** The sum of held gradients. */
export interface AccumulatedGradients {
  /** The counts of all passes together. */
  readonly counts: ItemCounts;
  /**
   * Wraps `reduction` so that it also gets the held gradients.
   *
   * @param factor The weight of each item's gradient: 1 / the number of items in the window.
   */
  joinedTo(reduction: GradientReduction, factor: number): GradientReduction;
}
