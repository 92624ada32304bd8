import { scalar, type Scalar, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Recorder } from '@acc/contract';
import type { ItemCounts } from '@acc/grad-accumulation';
import type { BackwardSession } from '@acc/tape';
import { singleStrategy } from '../single-strategy/single-strategy.js';
import { beginPassWithCandidates } from './candidate-pass.js';
import type { LossItems } from './loss-items.js';
import { lossScaleOf, unscaled } from './loss-scale.js';
import { accumulatesReduced, beginPass, freshWeight, type Pass, type PassOptions } from './pass.js';
import type { TrainingStepOptions } from './step-options.js';
import type { StepState } from './step-state.js';
import { uniqueIndices } from './unique-indices.js';

/** A session of the gradient driver. */
export interface PassSession extends BackwardSession {
  /** See {@link Pass.unit}. */
  readonly unit: number;
}

interface PassState extends StepState {
  readonly lossItems: LossItems;
}

/** Takes the gradients of trained variables from the gradient driver, one session for each pass. */
export class BackwardPasses {
  readonly #options: TrainingStepOptions;
  readonly #state: PassState;
  /** For passes that give this rank's own gradients. */
  readonly #local: PassOptions;
  #samples: number | undefined;

  constructor(options: TrainingStepOptions, state: PassState) {
    this.#options = options;
    this.#state = state;
    this.#local = { ...options, strategy: singleStrategy(), mixesRanks: false };
  }

  /** The number of samples on all ranks that the gradients of the last pass come from. */
  get samples(): number | undefined {
    return this.#samples;
  }

  /** Undefined if the loss depends on no trained variable, or if gradients stay local. */
  begin(xs: readonly (Tensor | Variable)[], y: Tensor): PassSession | undefined {
    const { sync, trained } = this.#state;
    if (sync.isLocal) return undefined;
    const indices = uniqueIndices(xs, (x) => trained.takes(x as Variable));
    if (indices.length === 0 && this.#options.accumulation.isInWindow) trained.require('accumulate');
    if (indices.length === 0) return undefined;
    const variables = indices.map((i) => xs[i] as Variable);
    this.#options.requireTurn?.(variables);
    return this.#session(indices, variables, y);
  }

  /** @param indices The positions of `variables` in the list of the driver. */
  #session(indices: readonly number[], variables: readonly Variable[], y: Tensor): PassSession {
    const { plugins, collective, strategy, accumulation, kernels } = this.#options;
    const { names, unusable, sync } = this.#state;
    const place = new Map(indices.map((index, k) => [index, k]));
    const perform = this.#performer();
    const name = names.ofPass(variables);
    const named = <T>(call: () => T) => collective.named(name, call);
    // A replay uses the scale of the recorded seed, even if an earlier step has changed it.
    const lossScale = lossScaleOf(plugins);
    const isReduced = !accumulation.isHolding || accumulatesReduced(strategy);
    // The gradients that are handed over in one action at the end, and the places of their variables.
    const grads: Tensor[] = [];
    const places: number[] = [];
    let pass!: Pass;
    const report = (grad: Tensor, at: number) =>
      named(() => pass.ready(at, unscaled(this.#final(grad, variables[at]!), lossScale)));
    const isRecorded = kernels.recorder?.records ?? false;
    const [weightInReplays] = perform(plugins.some((plugin) => plugin.loss) ? [y] : [], ([lossLocal]) => {
      named(() => (pass = this.#beginPass(variables, y, lossLocal)));
      return [isRecorded && this.#hasVaryingWeight ? scalar(pass.weight * lossScale) : null];
    });
    return {
      indices,
      weight: pass.weight * lossScale,
      weightInReplays: weightInReplays as Scalar | null | undefined,
      unit: pass.unit,
      ready: (index, grad) => {
        const at = place.get(index)!;
        if (strategy.traits.startsAtFinish) places[grads.push(grad) - 1] = at;
        else perform([grad], ([gradLocal]) => (report(gradLocal!, at), []));
      },
      finish: () => [
        ...perform(grads, (gradsLocal) => {
          gradsLocal.forEach((grad, i) => report(grad, places[i]!));
          const { grads, isUsable, samples } = named(() => pass.finish());
          unusable.note(variables, isUsable);
          this.#samples = samples;
          if (sync.isAfterPass || !isReduced) return grads;
          return strategy.gradients?.full(grads, variables) ?? grads;
        }),
      ],
    };
  }

  /**
   * Whether the weight of the pass that has begun is another one in each replay: that of a window
   * depends on what it holds, and that of a mean over some items on the items of other ranks.
   */
  get #hasVaryingWeight(): boolean {
    const { accumulation, strategy, mixesRanks, gradientRanks } = this.#options;
    const { last } = this.#state.lossItems;
    const dependsOnRanks = typeof last === 'object' && gradientRanks.size > 1;
    const isMeanOfRank = accumulation.isHolding && !accumulatesReduced(strategy) && !mixesRanks;
    return !isMeanOfRank && (accumulation.isInWindow || dependsOnRanks);
  }

  /** Runs calls that a replay must repeat. Not needed if nothing changes, holds or observes gradients. */
  #performer(): Recorder['runAction'] {
    const { kernels, strategy, plugins, accumulation } = this.#options;
    const { recorder } = kernels;
    const isRepeated =
      !strategy.traits.isLocal ||
      accumulation.isInWindow ||
      plugins.some(({ loss, ready, settle }) => loss ?? ready ?? settle);
    return (inputs, action) => (recorder && isRepeated ? recorder.runAction(inputs, action) : action(inputs));
  }

  /** @param lossLocal The loss for plugins. Undefined if none of them receives it. */
  #beginPass(variables: readonly Variable[], y: Tensor, lossLocal: Tensor | undefined): Pass {
    const { strategy, collective, accumulation, plugins } = this.#options;
    const { sync, trained, batch, lossItems } = this.#state;
    const counts = this.#countsOf(y);
    const isLocal = sync.isAfterPass;
    const used = isLocal ? this.#local : this.#options;
    if (used.mixesRanks) lossItems.requireNumber(lossItems.last);
    const about = { counts, ownSamples: batch.ownSamples, settles: !sync.isAtApply };
    const pass = beginPassWithCandidates(variables, {
      trained,
      strategy,
      collective,
      begin: (some) => beginPass({ variables: some, ...about }, used),
      fresh: () => freshWeight(counts, used),
      isLocal,
      isInWindow: accumulation.isInWindow,
    });
    if (lossLocal) for (const plugin of plugins) plugin.loss?.(lossLocal, { items: counts.own });
    return pass;
  }

  /** The number of items that the loss `y` is a mean over. */
  #countsOf(y: Tensor): ItemCounts {
    const { lossItems, batch, sync } = this.#state;
    const { passRanks } = batch;
    if (!sync.isAfterPass) return lossItems.countsOf(y, batch.rows, passRanks);
    const counts = lossItems.countsOf(y, batch.rows, { ...passRanks, countRanks: () => 1, shards: 1 });
    return { ...counts, all: counts.own };
  }

  /** The gradient after each plugin has replaced it. */
  #final(grad: Tensor, variable: Variable): Tensor {
    const { plugins } = this.#options;
    return plugins.reduce((given, plugin) => plugin.gradient?.(given, variable) ?? given, grad);
  }
}
