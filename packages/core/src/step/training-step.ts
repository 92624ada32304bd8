import type { NamedTensorMap, Optimizer, Tensor, Variable } from '@tensorflow/tfjs-core';
import { finallyAfter, type Collective, type Plugin, type RandomLayer } from '@acc/contract';
import type { GradientAccumulation } from '@acc/grad-accumulation';
import { tapeParticipants, type DriverHooks, type TapeParticipants } from '@acc/tape';
import { haveLayersHooks } from '../layer-hooks.js';
import { BackwardPasses, type PassSession } from './backward-passes.js';
import type { BatchRows } from './batch-rows.js';
import type { GradientClipping } from './clipping.js';
import type { CurrentBatch } from './current-batch.js';
import { GradientSync } from './gradient-sync.js';
import { Limits } from './limits.js';
import { LossItems } from './loss-items.js';
import { lossScaleOf } from './loss-scale.js';
import { MicroBatches } from './micro-batches.js';
import { OptimizerUpdates } from './optimizer-updates.js';
import { PluginSlots } from './plugin-slots.js';
import { StepNames } from './step-names.js';
import type { TrainingStepOptions } from './step-options.js';
import type { TrainedVariables } from './trained-variables.js';
import { UnusableGradients } from './unusable-gradients.js';

/** Options of `Accelerator.accumulate`. */
export interface AccumulateOptions {
  /** Whether the micro-batch closes its window. Default: if it is the last of prepared data. */
  readonly last?: boolean;
}

export interface MicroBatchOptions {
  /** Whether it closes its window. Default: if it is the last of prepared data. */
  readonly isLast?: boolean | undefined;
  readonly isInFit?: boolean;
}

/**
 * The work between a loss and new weights, in one fixed order: forward → weight, loss scale →
 * gradients, unscaled → hold, or flush held ones → reduce (the strategy gets each gradient when it
 * is final) → settle: apply or skip → clip → transform → apply → afterStep. Strategies that reduce
 * at `apply` do so then, and settle follows.
 */
export class TrainingStep implements DriverHooks {
  readonly #options: TrainingStepOptions;
  readonly #batch: CurrentBatch;
  readonly #slots: PluginSlots;
  readonly #passes: BackwardPasses;
  readonly #unusable = new UnusableGradients();
  readonly #microBatches: MicroBatches;

  /** The variables whose gradients are reduced. */
  readonly trained: TrainedVariables;
  /** The number of items that the losses of this step are means over, if that was given. */
  readonly lossItems = new LossItems();
  readonly names: StepNames;
  readonly limits: Limits;
  readonly sync: GradientSync;
  readonly updates: OptimizerUpdates;
  #hooks: { readonly participants: TapeParticipants | undefined } | undefined;

  constructor(options: TrainingStepOptions) {
    this.#options = options;
    const { plugins, trained } = options;
    const { lossItems } = this;
    this.trained = trained;
    this.names = new StepNames(options.collective);
    this.#microBatches = new MicroBatches(options.accumulation, () => options.kernels.recorder);
    this.limits = new Limits(options);
    this.sync = new GradientSync(options.strategy);
    this.#batch = options.batch;
    this.#slots = new PluginSlots({ plugins, trained, participants: () => this.participants });
    const { names, sync, limits } = this;
    const state = { names, sync, limits, trained, batch: this.#batch, unusable: this.#unusable };
    this.#passes = new BackwardPasses(options, { ...state, lossItems });
    this.updates = new OptimizerUpdates(options, { ...state, passes: this.#passes });
  }

  /** Takes part in passes at each operator. The hooks are those of the first pass: `attach` may set them. */
  get participants(): TapeParticipants | undefined {
    const { strategy, plugins, kernels } = this.#options;
    this.#hooks ??= { participants: tapeParticipants([strategy, ...plugins], () => kernels.recorder) };
    return this.#hooks.participants;
  }

  get accumulation(): GradientAccumulation {
    return this.#options.accumulation;
  }

  get clipping(): GradientClipping {
    return this.#options.clipping;
  }

  /** The last batch of prepared data. Undefined in a loop with other data. */
  get batch(): BatchRows | undefined {
    return this.#batch.rows;
  }

  set batch(rows: BatchRows | undefined) {
    this.#batch.rows = rows;
  }

  /** This rank's share of the samples in the current batch, which weights losses and metrics. */
  get share(): number {
    return this.#batch.share;
  }

  /** See {@link CurrentBatch.rowCounts}. */
  get rowCounts(): CurrentBatch['rowCounts'] {
    return this.#batch.rowCounts;
  }

  /** The ranks whose losses a backward pass mixes. See `PassOptions.mixesRanks`. */
  get mixedRanks(): Collective | undefined {
    const { mixesRanks, gradientRanks } = this.#options;
    return mixesRanks ? gradientRanks : undefined;
  }

  /** Whether gradients of the current or last micro-batch are reduced and applied. */
  get syncsGradients(): boolean {
    return !this.sync.isLocal && this.accumulation.closesWindow;
  }

  /** The factor by which gradients are scaled in backward, the product of all plugins' factors. */
  get lossScale(): number {
    return lossScaleOf(this.#options.plugins);
  }

  /**
   * The values on which the constants of a recorded step depend, in words. Empty for the usual ones.
   *
   * @param microBatches The number of micro-batches that the step runs itself.
   */
  surroundings(microBatches: number): string {
    const share = this.share === 1 ? [] : [`with ${this.share} of the batch's rows`];
    const scale = this.lossScale === 1 ? [] : [`loss scale ${this.lossScale}`];
    const window = this.#microBatches.surroundings(microBatches, this.batch?.isLast ?? false);
    return [...share, ...this.sync.surroundings, ...window, ...scale].join(', ');
  }

  /** The reason why a step cannot be recorded now. */
  get obstacle(): string | undefined {
    if (this.#options.isDeterministic)
      return 'deterministic training tracks random numbers and shards of tensors in JavaScript';
    return haveLayersHooks() ? 'a layer has a hook of registerHook, which is JavaScript' : undefined;
  }

  /**
   * Makes backward passes give this rank's own gradients, which optimizers apply, until every owner
   * has called {@link endAlone}. Only variables that some owner averages may be trained meanwhile.
   */
  trainAlone(owner: object, averaged: readonly Variable[]): void {
    this.limits.require('apart');
    this.sync.trainAlone(owner, averaged);
  }

  /** Ends {@link trainAlone}. All ranks call it together. */
  endAlone(owner: object): void {
    this.sync.endAlone(owner);
    if (this.sync.isTrainingAlone) return;
    // The flags concern gradients of this rank only.
    this.#unusable.clear();
    this.rejoin();
  }

  /** Makes plugin state equal on all ranks after they trained apart. All ranks call it together. */
  rejoin(): void {
    const { plugins, collective } = this.#options;
    for (const plugin of plugins) plugin.rejoin?.(collective);
  }

  /** Runs `fn` as one micro-batch. */
  microBatch<T>(fn: () => T, { isLast, isInFit = false }: MicroBatchOptions = {}): T {
    this.updates.isInFit = isInFit;
    return this.#microBatches.run(fn, () => isLast ?? this.batch?.isLast ?? false);
  }

  /** The number of micro-batches that have begun. */
  get microBatches(): number {
    return this.#microBatches.count;
  }

  forward<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T {
    return this.#slots.forward(xs, compute);
  }

  backward<T>(_xs: readonly (Tensor | Variable)[], compute: () => T): T {
    return this.#slots.backward(compute);
  }

  /** Runs a forward pass of prepared models without gradients. */
  predict<T>(compute: () => T): T {
    const { participants } = this;
    const predict = () => this.#slots.predict(compute);
    return participants ? finallyAfter(predict, () => participants.end()) : predict();
  }

  /** Returns a function that runs a forward pass later as plugins would run it now. */
  capture(): <T>(compute: () => T) => T {
    return this.#slots.capture();
  }

  /** See {@link DriverHooks.random}. */
  random(): RandomLayer | undefined {
    return this.#options.kernels.random;
  }

  begin(xs: readonly (Tensor | Variable)[], y: Tensor): PassSession | undefined {
    return this.#passes.begin(xs, y);
  }

  /**
   * Clips the gradients, lets plugins change them and applies them. Does nothing if the current
   * micro-batch holds its gradients.
   *
   * @throws AccError `ACC_NOT_PREPARED` for gradients that were not held.
   */
  apply(optimizer: Optimizer, grads: NamedTensorMap, applyGradients: (grads: NamedTensorMap) => void): void {
    this.updates.apply(optimizer, grads, applyGradients);
  }

  /** Frees the tensors that are kept between steps. */
  dispose(): void {
    this.accumulation.reset();
    this.clipping.dispose();
    detachAll(this.#options.plugins);
  }
}

/** Detaches all plugins, also if one throws. */
function detachAll([first, ...rest]: readonly Plugin[]): void {
  try {
    first?.detach?.();
  } finally {
    if (rest.length > 0) detachAll(rest);
  }
}
