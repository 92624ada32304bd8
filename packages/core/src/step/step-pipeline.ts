import type { NamedTensorMap, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Plugin, Strategy } from '@acc/contract';
import type { BackwardSession, DriverHooks } from '../gradient-driver/driver.js';
import { sampleShares, type BatchRows } from './batch-rows.js';

export interface StepPipelineOptions {
  readonly strategy: Strategy;
  readonly plugins: readonly Plugin[];
  readonly rank: number;
  readonly size: number;
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

  begin(xs: readonly (Tensor | Variable)[]): BackwardSession | undefined {
    const indices = uniqueIndices(xs, (x) => this.#prepared.has(x));
    if (indices.length === 0) return undefined;
    const variables = indices.map((i) => xs[i] as Variable);
    const place = new Map(indices.map((index, k) => [index, k]));
    const reduction = this.#options.strategy.beginReduction(variables);
    return {
      indices,
      weight: this.share,
      ready: (index, grad) => reduction.ready(place.get(index)!, grad),
      finish: () => reduction.finish(),
    };
  }

  /** Lets plugins change the gradients, then applies them. */
  apply(grads: NamedTensorMap, applyGradients: (grads: NamedTensorMap) => void): void {
    const info = { step: this.#steps };
    for (const plugin of this.#options.plugins) plugin.transform?.(grads, info);
    applyGradients(grads);
    this.#steps++;
    for (const plugin of this.#options.plugins) plugin.afterStep?.(info);
  }
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
