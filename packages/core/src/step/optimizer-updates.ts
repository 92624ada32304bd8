import type { NamedTensorMap, Optimizer, Tensor } from '@tensorflow/tfjs-core';
import type { StepInfo } from '@acc/contract';
import type { BackwardPasses } from './backward-passes.js';
import { disposeNew, withTensors } from './grad-records.js';
import { reduceGradients } from './reduce-gradients.js';
import { settleNew } from './settle.js';
import type { TrainingStepOptions } from './step-options.js';
import type { StepState } from './step-state.js';

interface UpdateState extends StepState {
  readonly passes: Pick<BackwardPasses, 'samples'>;
}

type ApplyGradients = (grads: NamedTensorMap) => void;

/** Functions that are called in every update. */
export interface UpdateObserver {
  /** All gradients are there. Every rank calls it. */
  beforeUpdate(): void;
  /** An optimizer is about to change weights. */
  beforeApply(): void;
}

/** Takes gradients to new weights: reduce and settle, clip, transform, apply, afterStep. */
export class OptimizerUpdates {
  readonly #options: TrainingStepOptions;
  readonly #state: UpdateState;

  /** The number of optimizer steps taken. */
  steps = 0;
  /** Grows whenever an optimizer is given gradients, also if they are held. */
  activity = 0;
  /** Whether the last step was skipped because its gradients were not usable. */
  wasSkipped = false;
  observer: UpdateObserver | undefined;
  /** Whether the current micro-batch belongs to `fit` or `fitDataset`. */
  isInFit = false;

  constructor(options: TrainingStepOptions, state: UpdateState) {
    this.#options = options;
    this.#state = state;
  }

  /** See `TrainingStep.apply`. */
  apply(optimizer: Optimizer, grads: NamedTensorMap, applyGradients: ApplyGradients): void {
    const { kernels, collective } = this.#options;
    const { recorder } = kernels;
    const name = this.#state.names.ofUpdate(optimizer);
    if (!recorder?.isRecording)
      return collective.named(name, () => this.#update(optimizer, grads, applyGradients));
    const entries = Object.entries(grads) as [string, Tensor | null][];
    const recorded = entries.flatMap(([, grad]) => grad ?? []);
    const update = (tensors: readonly Tensor[]) => {
      // The recorded run keeps its record, because plugins may replace tensors in it.
      const record = tensors === recorded ? grads : withTensors(entries, tensors);
      collective.named(name, () => this.#update(optimizer, record, applyGradients));
      return [];
    };
    recorder.runAction(recorded, update, { user: optimizer });
  }

  #update(optimizer: Optimizer, grads: NamedTensorMap, applyGradients: ApplyGradients): void {
    this.activity++;
    this.#requireTrained(grads);
    const { accumulation, plugins, strategy, clipping } = this.#options;
    if (accumulation.isHolding) return;
    const reduced = this.#reduced(grads);
    this.wasSkipped = !this.#isUsable(reduced, grads);
    if (this.wasSkipped) return disposeNew(reduced, grads);
    const info = this.#infoOf(optimizer);
    const local = strategy.gradients?.local(reduced) ?? reduced;
    clipping.clip(local, reduced);
    for (const plugin of plugins) plugin.transform?.(local, info);
    this.observer?.beforeUpdate();
    const apply: ApplyGradients = (given) => {
      this.observer?.beforeApply();
      applyGradients(given);
    };
    if (strategy.update) strategy.update(local, apply, optimizer);
    else apply(local);
    if (local !== reduced) disposeNew(local, reduced);
    if (reduced !== grads) disposeNew(reduced, grads);
    this.steps++;
    for (const plugin of plugins) plugin.afterStep?.(info);
  }

  /**
   * @throws AccError `ACC_NOT_PREPARED` for gradients that were not reduced, were computed in
   * another precision than the options ask for, or are not held by a window; `ACC_NOT_AVERAGED`.
   */
  #requireTrained(grads: NamedTensorMap): void {
    const { sync, trained, limits } = this.#state;
    if (sync.isLocal) return limits.require('noSync');
    if (sync.isTrainingAlone) return sync.requireAveraged(grads);
    const { collective, plugins, accumulation } = this.#options;
    const isPlain = collective.size === 1 && !plugins.some((plugin) => plugin.gradient);
    if (isPlain && !accumulation.isInWindow) return;
    const isEnough = sync.isAtApply ? trained.knows : trained.has;
    trained.requireOf('applyGradients', grads, isEnough.bind(trained));
  }

  /** The mean of the gradients over ranks, if the backward pass has not reduced them. */
  #reduced(grads: NamedTensorMap): NamedTensorMap {
    const { sync, trained, batch } = this.#state;
    if (!sync.isAtApply) return grads;
    const { strategy, collective } = this.#options;
    return reduceGradients(grads, { trained, strategy, collective, weight: batch.share });
  }

  /** Whether the step is taken. `reduced` is the record that {@link #reduced} made of `grads`. */
  #isUsable(reduced: NamedTensorMap, grads: NamedTensorMap): boolean {
    const { sync, unusable } = this.#state;
    return sync.isAtApply ? settleNew(reduced, grads, this.#options) : !unusable.hasAnyOf(grads);
  }

  #infoOf(optimizer: Optimizer): StepInfo {
    const { passes, batch, sync } = this.#state;
    return {
      step: this.steps,
      optimizer,
      samples: this.#options.accumulation.isInWindow ? passes.samples : batch.samples,
      isInFit: this.isInFit,
      isShared: !sync.isOff,
      isReplicated: this.#options.strategy.traits.parameters === 'replicated',
    };
  }
}
