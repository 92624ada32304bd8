import { type NamedTensorMap, type Optimizer, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import {
  finallyAfter,
  type Collective,
  type GradientAccumulation,
  type ItemCounts,
  type ListMath,
  type Plugin,
  type Recorder,
  type Strategy,
} from '@acc/contract';
import type { BackwardSession, DriverHooks } from '../gradient-driver/driver.js';
import { tapeParticipants, type TapeParticipants } from '../gradient-driver/tape-participants.js';
import { singleStrategy } from '../single-strategy/single-strategy.js';
import { sampleShares, samplesOf, type BatchRows } from './batch-rows.js';
import type { GradientClipping } from './clipping.js';
import { refuseDeterministic, requireReplicated } from './limits.js';
import { LossItems } from './loss-items.js';
import { lossScaleOf, unscaled } from './loss-scale.js';
import { requireAveraged } from './averaged.js';
import { beginPassWithCandidates } from './candidate-pass.js';
import { disposeNew, withTensors } from './grad-records.js';
import { beginPass, freshWeight, type Pass } from './pass.js';
import { reduceGiven } from './reduce-given.js';
import { settleNew } from './settle.js';
import { StepNames } from './step-names.js';
import { TrainedVariables } from './trained-variables.js';
import { uniqueIndices } from './unique-indices.js';
import { UnusableGradients } from './unusable-gradients.js';

export interface StepPipelineOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly collective: Collective;
  /** The ranks that receive different rows. */
  readonly dataRanks: Collective;
  /** The number of ranks whose gradients are averaged. All ranks of a step call it together. */
  readonly countRanks: () => number;
  /** Whether weights must not depend on the number of ranks. */
  readonly isDeterministic?: boolean;
  readonly accumulation: GradientAccumulation;
  readonly clipping: GradientClipping;
  readonly lists: ListMath;
  /** @throws AccError if a step of `variables` may not be taken now. */
  readonly requireTurn?: (variables: readonly Variable[]) => void;
  /** Calls of the strategy and of plugins are not recorded. Every replay repeats them. */
  readonly recorder?: Recorder | undefined;
}

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
export class StepPipeline implements DriverHooks {
  /** The objects that keep ranks apart, and the variables that each of them averages. */
  readonly #independent = new Map<object, ReadonlySet<Variable>>();
  readonly #unusable = new UnusableGradients();
  readonly #options: StepPipelineOptions;
  #samples: number | undefined;
  #isLocal = false;
  #isInFit = false;

  /** The number of optimizer steps taken. */
  steps = 0;
  /** Grows with every backward pass and every step. */
  activity = 0;
  readonly names: StepNames;
  /** The variables whose gradients are reduced. */
  readonly trained = new TrainedVariables();
  /** The number of items that the losses of this step are means over, if that was given. */
  readonly lossItems = new LossItems();
  /** The last batch of prepared data. Undefined in a loop with other data. */
  batch: BatchRows | undefined;
  /** Whether the last step was skipped because its gradients were not usable. */
  wasSkipped = false;

  readonly participants: TapeParticipants | undefined;

  constructor(options: StepPipelineOptions) {
    this.#options = options;
    const { strategy, plugins } = options;
    this.participants = tapeParticipants([strategy, ...plugins], () => options.recorder);
    this.names = new StepNames(options.collective);
  }

  get accumulation(): GradientAccumulation {
    return this.#options.accumulation;
  }

  get clipping(): GradientClipping {
    return this.#options.clipping;
  }

  /** Whether gradients of the current or last micro-batch are reduced and applied. */
  get syncsGradients(): boolean {
    return !this.#isLocal && this.accumulation.closesWindow;
  }

  /** This rank's share of the samples in the current batch, which weights losses and metrics. */
  get share(): number {
    const { dataRanks, countRanks } = this.#options;
    return this.batch ? sampleShares(this.batch)[dataRanks.rank]! : 1 / countRanks();
  }

  /**
   * Makes backward passes give this rank's own gradients, which optimizers apply, until every owner
   * has called {@link endAlone}. Only variables that some owner averages may be trained meanwhile.
   */
  trainAlone(owner: object, averaged: readonly Variable[]): void {
    this.requireSeveralWays('ranks that train by themselves');
    this.requireReplicated('Training without the other ranks');
    this.#independent.set(owner, new Set(averaged));
  }

  /** Whether each rank currently trains its own parameters. */
  get isTrainingAlone(): boolean {
    return this.#independent.size > 0;
  }

  /** @throws AccError `ACC_DETERMINISTIC_UNSUPPORTED` for `what` if the run is deterministic. */
  requireSeveralWays(what: string): void {
    if (this.#options.isDeterministic) refuseDeterministic(what);
  }

  /** @throws AccError `ACC_STRATEGY_CANNOT` for `what` if the strategy shards parameters. */
  requireReplicated(what: string): void {
    requireReplicated(what, this.#options.strategy);
  }

  /** Ends {@link trainAlone}. All ranks call it together. */
  endAlone(owner: object): void {
    this.#independent.delete(owner);
    if (this.isTrainingAlone) return;
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
    this.#isInFit = isInFit;
    return this.accumulation.run(fn, isLast ?? this.batch?.isLast ?? false);
  }

  /** Whether {@link locally} is running. */
  get isLocal(): boolean {
    return this.#isLocal;
  }

  /** Whether gradients are never reduced over ranks. */
  get keepsGradientsLocal(): boolean {
    return this.#isLocal || this.isTrainingAlone;
  }

  /** Runs `fn`. Its gradients stay local to this rank. */
  locally<T>(fn: () => T): T {
    const before = this.#isLocal;
    this.#isLocal = true;
    return finallyAfter(fn, () => (this.#isLocal = before));
  }

  /** The values on which the constants of a recorded step depend. */
  get surroundings(): string {
    return `${this.share} ${this.#isLocal} ${this.#independent.size} ${lossScaleOf(this.#options.plugins)}`;
  }

  /** The reason why a step cannot be recorded now. */
  get obstacle(): string | undefined {
    if (this.#options.isDeterministic)
      return 'random numbers and parts of tensors are followed through JavaScript (deterministic)';
    return this.accumulation.isInWindow ? 'it runs inside a window of gradient accumulation' : undefined;
  }

  forward<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T {
    if (this.#isTraining(xs)) return this.predict(compute);
    return this.participants ? this.participants.forward(compute) : compute();
  }

  backward<T>(_xs: readonly (Tensor | Variable)[], compute: () => T): T {
    return this.#wrapped('backward', compute);
  }

  /** Runs a forward pass of prepared models without gradients. */
  predict<T>(compute: () => T): T {
    const run = () => this.#wrapped('forward', compute);
    return this.participants ? this.participants.forward(run) : run();
  }

  /** Returns a function that runs a forward pass later as plugins would run it now. */
  capture(): <T>(compute: () => T) => T {
    const captured = this.#options.plugins.flatMap((plugin) => plugin.capture?.() ?? []);
    return <T>(compute: () => T) =>
      captured.reduceRight<() => T>((inner, run) => () => run(inner), compute)();
  }

  begin(xs: readonly (Tensor | Variable)[], y: Tensor): BackwardSession | undefined {
    if (this.#isLocal) return undefined;
    const indices = uniqueIndices(xs, (x) => this.trained.takes(x as Variable));
    if (indices.length === 0 && this.accumulation.isInWindow) this.trained.require('accumulate');
    if (indices.length === 0) return undefined;
    const variables = indices.map((i) => xs[i] as Variable);
    const place = new Map(indices.map((index, k) => [index, k]));
    const host = this.#host();
    const { plugins, collective, requireTurn } = this.#options;
    requireTurn?.(variables);
    const name = this.names.ofPass(variables);
    const named = <T>(call: () => T) => collective.named(name, call);
    // A replay uses the scale of the recorded seed, even if an earlier step has changed it.
    const lossScale = lossScaleOf(plugins);
    let pass!: Pass;
    const listeners = plugins.filter((plugin) => plugin.loss);
    host(listeners.length > 0 ? [y] : [], ([lossLocal]) =>
      named(() => {
        const counts = this.#countsOf(y);
        pass = this.#beginPass(variables, counts);
        for (const plugin of listeners) plugin.loss!(lossLocal!, { items: counts.own });
        return [];
      }),
    );
    return {
      indices,
      weight: pass.weight * lossScale,
      ready: (index, grad) => {
        host([grad], ([gradLocal]) => {
          const at = place.get(index)!;
          named(() => pass.ready(at, unscaled(this.#final(gradLocal!, variables[at]!), lossScale)));
          return [];
        });
      },
      finish: () => [
        ...host([], () => {
          const { grads, isUsable, samples } = named(() => pass.finish());
          this.#unusable.note(variables, isUsable);
          this.#samples = samples;
          return grads;
        }),
      ],
    };
  }

  /**
   * Clips the gradients, lets plugins change them and applies them. Does nothing if the current
   * micro-batch holds its gradients.
   *
   * @throws AccError `ACC_NOT_PREPARED` for gradients that were not held.
   */
  apply(optimizer: Optimizer, grads: NamedTensorMap, applyGradients: (grads: NamedTensorMap) => void): void {
    const { recorder, collective } = this.#options;
    const applyNow = (given: NamedTensorMap) =>
      collective.named(this.names.ofUpdate(optimizer), () =>
        this.#applyNow(optimizer, given, applyGradients),
      );
    if (!recorder?.isRecording) return applyNow(grads);
    const entries = Object.entries(grads) as [string, Tensor | null][];
    const recorded = entries.flatMap(([, grad]) => grad ?? []);
    recorder.host(recorded, (tensors) => {
      // The recorded run keeps its record, because plugins may replace tensors in it.
      const record = tensors === recorded ? grads : withTensors(entries, tensors);
      applyNow(record);
      return [];
    });
  }

  /** Frees the tensors that are kept between steps. */
  dispose(): void {
    this.accumulation.reset();
    this.clipping.dispose();
    for (const plugin of this.#options.plugins) plugin.detach?.();
  }

  #applyNow(
    optimizer: Optimizer,
    grads: NamedTensorMap,
    applyGradients: (grads: NamedTensorMap) => void,
  ): void {
    this.activity++;
    this.#requireTrained(grads);
    if (this.accumulation.isHolding) return;
    const { plugins, strategy } = this.#options;
    const global = this.#reduced(grads);
    this.wasSkipped = this.#reducesAtApply
      ? !settleNew(global, grads, this.#options)
      : this.#unusable.hasAnyOf(grads);
    if (this.wasSkipped) return disposeNew(global, grads);
    const samples = this.accumulation.isInWindow ? this.#samples : samplesOf(this.batch);
    const isShared = !this.#isLocal && this.#independent.size === 0;
    const info = { step: this.steps, optimizer, samples, isInFit: this.#isInFit, isShared };
    this.clipping.clip(global);
    for (const plugin of plugins) plugin.transform?.(global, info);
    if (strategy.update) strategy.update(global, applyGradients);
    else applyGradients(global);
    if (global !== grads) disposeNew(global, grads);
    this.steps++;
    for (const plugin of plugins) plugin.afterStep?.(info);
  }

  /** Reduces this rank's own gradients to their mean over ranks. */
  #reduced(grads: NamedTensorMap): NamedTensorMap {
    if (!this.#reducesAtApply) return grads;
    const { strategy, collective } = this.#options;
    return reduceGiven(grads, { trained: this.trained, strategy, collective, weight: this.share });
  }

  /** Whether gradients are local for now. */
  get #reducesLater(): boolean {
    return this.isTrainingAlone || this.#reducesAtApply;
  }

  /** Whether gradients are reduced and settled when they are applied. */
  get #reducesAtApply(): boolean {
    return !this.isTrainingAlone && this.#options.strategy.traits.syncAt === 'apply';
  }

  #countsOf(y: Tensor): ItemCounts {
    const { dataRanks, countRanks } = this.#options;
    const { rank } = dataRanks;
    if (!this.#reducesLater) return this.lossItems.countsOf(y, this.batch, { rank, countRanks });
    const counts = this.lossItems.countsOf(y, this.batch, { rank, countRanks: () => 1 });
    return { ...counts, all: counts.own };
  }

  #beginPass(variables: readonly Variable[], counts: ItemCounts): Pass {
    const { strategy, collective, dataRanks, accumulation } = this.#options;
    const ownSamples = this.batch?.realRows[dataRanks.rank];
    const isLocal = this.#reducesLater;
    const options = { ...this.#options, settles: !this.#reducesAtApply };
    const used = isLocal ? { ...options, strategy: singleStrategy() } : options;
    return beginPassWithCandidates(variables, {
      trained: this.trained,
      strategy,
      collective,
      begin: (some) => beginPass({ variables: some, counts, ownSamples }, used),
      weight: () => freshWeight(counts, used),
      isLocal,
      isInWindow: accumulation.isInWindow,
    });
  }

  /** Runs calls that a replay must repeat. Not needed if nothing changes or observes gradients. */
  #host(): Recorder['host'] {
    const { recorder, strategy, plugins } = this.#options;
    const isRepeated =
      !strategy.traits.isLocal || plugins.some(({ loss, ready, settle }) => loss ?? ready ?? settle);
    return (inputs, action) => (recorder && isRepeated ? recorder.host(inputs, action) : action(inputs));
  }

  #isTraining(xs: readonly (Tensor | Variable)[]): boolean {
    return xs.some((x) => this.trained.takes(x as Variable));
  }

  #final(grad: Tensor, variable: Variable): Tensor {
    const { plugins } = this.#options;
    return plugins.reduce((given, plugin) => plugin.gradient?.(given, variable) ?? given, grad);
  }

  #wrapped<T>(slot: 'forward' | 'backward', compute: () => T): T {
    const run = this.#options.plugins.reduceRight<() => T>(
      (inner, plugin) => (plugin[slot] ? () => plugin[slot]!(inner) : inner),
      compute,
    );
    return run();
  }

  /**
   * @throws AccError `ACC_NOT_PREPARED` for gradients that were not reduced, were computed in
   * another precision than the options ask for, or are not held by a window; `ACC_NOT_AVERAGED`.
   */
  #requireTrained(grads: NamedTensorMap): void {
    if (this.#isLocal) return;
    if (this.isTrainingAlone) return requireAveraged(grads, [...this.#independent.values()]);
    const { collective, plugins } = this.#options;
    const isPlain = collective.size === 1 && !plugins.some((plugin) => plugin.gradient);
    if (isPlain && !this.accumulation.isInWindow) return;
    const isEnough = this.#reducesAtApply ? this.trained.knows : this.trained.has;
    this.trained.requireOf('applyGradients', grads, isEnough.bind(this.trained));
  }
}
