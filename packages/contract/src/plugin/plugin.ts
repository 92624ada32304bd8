import type { NamedTensorMap, Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '../collective/collective.js';
import type { StrategyContext } from '../strategy/strategy.js';
import type { TapeHooks } from '../tape/tape-hooks.js';

/** Information for plugins about the current step. */
export interface StepInfo {
  /** The number of optimizer steps taken so far in this process, from 0. */
  readonly step: number;
  /** The optimizer that takes the step. */
  readonly optimizer: Optimizer;
  /**
   * The samples of all ranks that the gradients come from. Undefined if the loop does not use
   * prepared data.
   */
  readonly samples: number | undefined;
  /** Whether the step belongs to `fit` or `fitDataset`, whose loop is that of tfjs. */
  readonly isInFit: boolean;
  /** Whether ranks take the step together. False while each rank trains alone. */
  readonly isShared: boolean;
  /** Whether every rank holds all weights in full. If not, reading them gathers them from all ranks. */
  readonly isReplicated: boolean;
}

/** Information for plugins about the backward pass that a gradient comes from. */
export interface PassInfo {
  /**
   * The factor of the gradient of this rank's mean loss. With it the sum over ranks and passes is
   * the mean.
   */
  readonly weight: number;
  /** The samples of this rank in the pass. Undefined if the loop does not use prepared data. */
  readonly samples: number | undefined;
  /** The variables whose gradients the pass computes. */
  readonly variables: readonly Variable[];
}

/** Information for plugins about gradients that are settled together. */
export interface SettleInfo {
  /**
   * The variables of the gradients, in the same order. Undefined if a loop may have computed the
   * gradients from any passes.
   */
  readonly variables: readonly Variable[] | undefined;
  /**
   * Whether the gradients are finite on all ranks that take the step. The answer is the same on
   * each rank. The first call reads the gradients and stores the answer. All ranks must call it or
   * none.
   *
   * @throws AccError `ACC_STRATEGY_CANNOT` if ranks have shards of gradients and the strategy has
   * no `allFinite`.
   */
  allFinite(): boolean;
}

/** Information for plugins about a loss. */
export interface LossInfo {
  /**
   * The number of items that the loss is a mean over: samples, or the count given to `weighLoss`. 1
   * if the loop does not use prepared data.
   */
  readonly items: number;
}

/**
 * Takes part in the steps of an Accelerator. Hooks fill named slots whose order core fixes. The
 * order of registration only decides the order within one slot. If a hook is absent, the plugin
 * does nothing in that slot.
 */
export interface Plugin {
  readonly name: string;
  /** Called once by `Accelerator.create`. It may set `tape`, `forward` and `backward`, which are not changed later. */
  attach?(context: StrategyContext): void;
  /**
   * Claims an object given to `prepare`: returns the value that `prepare` returns for it, or
   * undefined if the object does not belong to this plugin. The caller owns the object and the
   * returned value. Called before anything is prepared, so a plugin may refuse an object here by an
   * error.
   */
  claim?(object: unknown): unknown;
  /**
   * Slot `forward`: runs the loss function of a training step and predictions of prepared models.
   */
  forward?<T>(compute: () => T): T;
  /**
   * Called within `forward` where a section begins that backward recomputes. Returns a function
   * that runs a computation later as the plugin would run it now.
   */
  capture?(): <T>(compute: () => T) => T;
  /**
   * Takes part in passes at each operator, after the strategy. Absent: passes have no extra cost.
   */
  readonly tape?: TapeHooks;
  /** Slot `backward`: runs the walk back over the tape in a training step. */
  backward?<T>(compute: () => T): T;
  /**
   * Slot `gradient`: the gradient of a prepared variable is final on this rank. Takes it over and
   * returns its replacement.
   */
  gradient?(grad: Tensor, variable: Variable): Tensor;
  /**
   * Slot `scaleLoss`: a factor for the gradients of a backward pass from its start. The step
   * removes the factor as soon as a gradient is final on this rank and before it is added to
   * another. Ranks and passes may therefore have different factors.
   */
  lossScale?(): number;
  /**
   * Slot `loss`: receives this rank's mean loss of a training micro-batch, without scale, as a
   * scalar. The step owns the tensor.
   */
  loss?(lossLocal: Tensor, info: LossInfo): void;
  /**
   * Slot `gradients`: this rank's gradient of one variable is final. The step owns the tensor.
   */
  ready?(gradLocal: Tensor, pass: PassInfo, variable: Variable): void;
  /**
   * Slot `settle`: receives the reduced gradients of a window, null for missing ones, and may
   * change the list in place. The plugin disposes tensors that it replaces. Returns false, on all
   * ranks, to skip the step. While each rank trains alone, the gradients and the answer are those
   * of the rank.
   */
  settle?(grads: (Tensor | null)[], info: SettleInfo): boolean;
  /**
   * Slot `transform`: changes the reduced and clipped gradients in place before they are applied.
   * The plugin disposes tensors that it replaces in the record.
   */
  transform?(grads: NamedTensorMap, info: StepInfo): void;
  /** Slot `afterStep`: the optimizer has applied the gradients. */
  afterStep?(info: StepInfo): void;
  /**
   * Makes plugin state equal on all ranks if the plugin needs that, when ranks that have trained
   * alone take steps together again. Called on all ranks.
   */
  rejoin?(collective: Collective): void;
  /** Called by `freeMemory`: frees what the plugin holds. */
  detach?(): void;
  /**
   * The state for checkpoints, separate for each rank. Requires `setState`. See {@link Stateful}.
   */
  getState?(): unknown;
  /**
   * Restores a state that `getState` returned.
   *
   * @throws AccError `ACC_STATE_INVALID` for other values.
   */
  setState?(state: never): unknown;
}

/** The plugin that makes steps compute in another precision. */
export interface PrecisionPlugin extends Plugin {
  /**
   * Runs `compute` in that precision or, if `enabled` is false, in float32. Results are float32.
   *
   * @throws AccError `ACC_AUTOCAST_ASYNC` for a promise.
   */
  autocast<T>(compute: () => T, options?: AutocastOptions): T;
  /**
   * Called once with each list of variables that training gets to know: the weights of a prepared model, in
   * the order of its layers, a prepared list, or the variables that a prepared optimizer trains.
   */
  prepared?(variables: readonly Variable[]): void;
  getState(): unknown;
  setState(state: unknown): void;
}

export interface AutocastOptions {
  /** Default true. */
  readonly enabled?: boolean;
}

/** The hooks that a plugin may have. Core rejects others. */
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
