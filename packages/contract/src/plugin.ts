import type { NamedTensorMap, Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from './collective.js';
import type { StrategyContext } from './strategy.js';
import type { TapeHooks } from './tape-hooks.js';

/** What a plugin learns about the step it is called in. */
export interface StepInfo {
  /** Optimizer steps taken so far in this process, from 0. */
  readonly step: number;
  /** The one that takes the step. */
  readonly optimizer: Optimizer;
  /** Samples of all ranks that its gradients come from; undefined in a loop that feeds itself. */
  readonly samples: number | undefined;
  /** The step is one of `fit` or `fitDataset`, whose loop is tfjs's, not the user's. */
  readonly isInFit: boolean;
  /** Ranks take the step together. False while each trains by itself. */
  readonly isShared: boolean;
}

/** What a plugin learns about the backward pass that a gradient comes from. */
export interface PassInfo {
  /** What the gradient of this rank's mean loss is multiplied by, so that the sum over ranks and passes is the mean. */
  readonly weight: number;
  /** Samples of this rank that the pass goes over; undefined in a loop that feeds itself. */
  readonly samples: number | undefined;
  /** Of which it gives gradients. */
  readonly variables: readonly Variable[];
}

/** What a plugin learns about gradients that are settled together. */
export interface SettleInfo {
  /** Those of the passes that the gradients come from, in the same order; undefined where a loop may have made them of any passes'. */
  readonly variables: readonly Variable[] | undefined;
  /**
   * Whether the gradients are finite on all ranks that take the step: the same answer on each. Looks at the gradients when it is
   * first called, and then keeps the answer. Ranks call it alike.
   *
   * @throws AccError `ACC_STRATEGY_CANNOT` where ranks have shards of gradients and the strategy has no `allFinite`.
   */
  allFinite(): boolean;
}

/** What a plugin learns about a loss. */
export interface LossInfo {
  /** Over how many items it is a mean: samples, or what `weighLoss` said; 1 in a loop that feeds itself. */
  readonly items: number;
}

/**
 * Something that takes part in the steps of an Accelerator. Hooks fill named slots whose order core fixes; the order
 * of registration decides nothing but the order within one slot. An absent hook means that the plugin has no part there.
 */
export interface Plugin {
  readonly name: string;
  /** Called once by `Accelerator.create`. */
  attach?(context: StrategyContext): void;
  /**
   * Takes an object given to `prepare`: returns what `prepare` is to return for it, or undefined when the object
   * is not this plugin's. The object is the caller's; what is returned is, too.
   */
  claim?(object: unknown): unknown;
  /** Slot `forward`: runs the loss function of a training step, and predictions of prepared models. */
  forward?<T>(compute: () => T): T;
  /**
   * Called within `forward` where a part begins that is computed again in backward: gives what runs a computation then as one
   * would run now.
   */
  capture?(): <T>(compute: () => T) => T;
  /** Takes part in passes operator by operator, after the strategy. Absent: passes run without any cost for it. */
  readonly tape?: TapeHooks;
  /** Slot `backward`: runs the walk back over the tape of a training step. */
  backward?<T>(compute: () => T): T;
  /**
   * Slot `gradient`: the gradient of a prepared variable is final on this rank. Takes it over and gives what takes its place.
   */
  gradient?(grad: Tensor, variable: Variable): Tensor;
  /**
   * Slot `scaleLoss`: a factor for the gradients of a backward pass from its very start. The pipeline takes it out of each as
   * soon as that is final on this rank, before anybody adds it to another: so ranks and passes may have factors of their own.
   */
  lossScale?(): number;
  /** Slot `loss`: this rank's mean loss of a training micro-batch, without scale, a scalar. It stays the pipeline's. */
  loss?(lossLocal: Tensor, info: LossInfo): void;
  /** Slot `gradients`: one variable's gradient of this rank is final. It stays the pipeline's. */
  ready?(gradLocal: Tensor, pass: PassInfo, variable: Variable): void;
  /**
   * Slot `settle`: the reduced gradients of a window, null where there is none, which the plugin changes in place. A tensor that
   * is replaced in the list is disposed by the plugin. False, on all ranks alike: the step is skipped. While each rank trains by
   * itself they are its own, and so is the answer.
   */
  settle?(grads: (Tensor | null)[], info: SettleInfo): boolean;
  /**
   * Slot `transform`: changes the reduced and clipped gradients in place before they are applied. A tensor that is replaced
   * in the record is disposed by the plugin.
   */
  transform?(grads: NamedTensorMap, info: StepInfo): void;
  /** Slot `afterStep`: the optimizer has applied the gradients. */
  afterStep?(info: StepInfo): void;
  /** Ranks that have trained alone take steps together again: gives them the same state where that serves them all. Called on all. */
  rejoin?(collective: Collective): void;
  /** Called by `freeMemory`: frees what the plugin holds. */
  detach?(): void;
  /** What a checkpoint keeps of it, on each rank its own; with `setState`, or neither. See {@link Stateful}. */
  getState?(): unknown;
  /** Goes on from what `getState` gave. @throws AccError `ACC_STATE_INVALID` for something else. */
  setState?(state: never): unknown;
}

/** The plugin by which steps compute in another precision. */
export interface PrecisionPlugin extends Plugin {
  /**
   * Runs `compute` in that precision, or, with `enabled` false, a part of it in float32. Results are float32.
   *
   * @throws AccError `ACC_AUTOCAST_ASYNC` for a promise.
   */
  autocast<T>(compute: () => T, options?: AutocastOptions): T;
  getState(): unknown;
  setState(state: unknown): void;
}

export interface AutocastOptions {
  /** Default true. */
  readonly enabled?: boolean;
}

/** The hooks a plugin may have; core refuses others. */
export const PLUGIN_KEYS = [
  'name',
  'attach',
  'claim',
  'forward',
  'capture',
  'tape',
  'backward',
  'gradient',
  'lossScale',
  'loss',
  'ready',
  'settle',
  'transform',
  'afterStep',
  'rejoin',
  'detach',
  'getState',
  'setState',
] as const;
