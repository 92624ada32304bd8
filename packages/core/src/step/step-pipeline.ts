import type { NamedTensorMap, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { GradientReduction, Plugin, Recorder, Strategy } from '@acc/contract';
import type { BackwardSession, DriverHooks } from '../gradient-driver/driver.js';
import { sampleShares, type BatchRows } from './batch-rows.js';

export interface StepPipelineOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly rank: number;
  readonly size: number;
  /** What strategy and plugins do is not recorded: it is called again in every replay. */
  readonly recorder?: Recorder | undefined;
}

/**
 * What happens between a loss and new weights, in one fixed order:
 * forward → weight → gradients (each handed to the strategy when it is final) → reduce → transform → apply → afterStep.
 */
export class StepPipeline implements DriverHooks {
  readonly #prepared = new WeakSet<object>();
  readonly #options: StepPipelineOptions;
  #steps = 0;

  /** The rows of the batch that prepared data gave last; undefined in a loop that feeds itself. */
  batch: BatchRows | undefined;

  constructor(options: StepPipelineOptions) {
    this.#options = options;
  }

  /** From now on gradients of `variables` are reduced. */
  add(variables: readonly Variable[]): void {
    for (const variable of variables) this.#prepared.add(variable);
  }

  has(variable: Variable): boolean {
    return this.#prepared.has(variable);
  }

  /** This rank's share of the samples of the step: the weight of its gradients, losses and metrics. */
  get share(): number {
    const { rank, size } = this.#options;
    return this.batch ? sampleShares(this.batch)[rank]! : 1 / size;
  }

  forward<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T {
    return this.#isTraining(xs) ? this.predict(compute) : compute();
  }

  backward<T>(_xs: readonly (Tensor | Variable)[], compute: () => T): T {
    return this.#wrapped('backward', compute);
  }

  /** Runs a forward pass of prepared models without gradients. */
  predict<T>(compute: () => T): T {
    return this.#wrapped('forward', compute);
  }

  begin(xs: readonly (Tensor | Variable)[]): BackwardSession | undefined {
    const indices = uniqueIndices(xs, (x) => this.#prepared.has(x));
    if (indices.length === 0) return undefined;
    const variables = indices.map((i) => xs[i] as Variable);
    const place = new Map(indices.map((index, k) => [index, k]));
    const { strategy, recorder } = this.#options;
    // A replay does what follows again, but where that gives gradients back as they came.
    const isRecorded = recorder !== undefined && strategy.traits.isLocal !== true;
    const host: Recorder['host'] = (inputs, action) =>
      isRecorded ? recorder.host(inputs, action) : action(inputs);
    let reduction: GradientReduction;
    host([], () => {
      reduction = strategy.beginReduction(variables);
      return [];
    });
    return {
      indices,
      weight: this.share,
      ready: (index, grad) => {
        host([grad], ([gradLocal]) => {
          reduction.ready(place.get(index)!, this.#final(gradLocal!));
          return [];
        });
      },
      finish: () => [...host([], () => reduction.finish())],
    };
  }

  #isTraining(xs: readonly (Tensor | Variable)[]): boolean {
    return xs.some((x) => this.#prepared.has(x));
  }

  #final(grad: Tensor): Tensor {
    return this.#options.plugins.reduce((given, plugin) => plugin.gradient?.(given) ?? given, grad);
  }

  #wrapped<T>(slot: 'forward' | 'backward', compute: () => T): T {
    const run = this.#options.plugins.reduceRight<() => T>(
      (inner, plugin) => (plugin[slot] ? () => plugin[slot]!(inner) : inner),
      compute,
    );
    return run();
  }

  /** Lets plugins change the gradients, then applies them. */
  apply(grads: NamedTensorMap, applyGradients: (grads: NamedTensorMap) => void): void {
    const { recorder } = this.#options;
    if (!recorder?.isRecording) return this.#applyNow(grads, applyGradients);
    const entries = Object.entries(grads) as [string, Tensor | null][];
    const recorded = entries.flatMap(([, grad]) => grad ?? []);
    recorder.host(recorded, (tensors) => {
      // The run that is recorded keeps its record, in which plugins may replace tensors; a replay has none yet.
      this.#applyNow(tensors === recorded ? grads : withTensors(entries, tensors), applyGradients);
      return [];
    });
  }

  #applyNow(grads: NamedTensorMap, applyGradients: (grads: NamedTensorMap) => void): void {
    const info = { step: this.#steps };
    for (const plugin of this.#options.plugins) plugin.transform?.(grads, info);
    applyGradients(grads);
    this.#steps++;
    for (const plugin of this.#options.plugins) plugin.afterStep?.(info);
  }
}

/** The record again, with `tensors` in the places of those that it has. */
function withTensors(
  entries: readonly [string, Tensor | null][],
  tensors: readonly Tensor[],
): NamedTensorMap {
  let next = 0;
  return Object.fromEntries(entries.map(([name, grad]) => [name, grad && tensors[next++]])) as NamedTensorMap;
}

/** Positions of the items that pass, each object once. */
function uniqueIndices<T extends object>(items: readonly T[], passes: (item: T) => boolean): number[] {
  const seen = new Set<T>();
  const indices: number[] = [];
  items.forEach((item, i) => {
    if (seen.has(item) || !passes(item)) return;
    seen.add(item);
    indices.push(i);
  });
  return indices;
}
