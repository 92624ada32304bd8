import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Collective, GradientReduction } from '@acc/contract';
import type { BucketPlan } from './bucket-plan.js';
import { Bucket } from './bucket.js';

/**
 * One backward pass: a bucket leaves as soon as its gradients are there, under the rest of backward. Buckets leave in the
 * order of the plan on every rank, whatever the order in which gradients come, since ranks must call alike.
 */
export class BucketedReduction implements GradientReduction {
  readonly #buckets: readonly Bucket[];
  #launched = 0;

  constructor(
    private readonly variables: readonly Variable[],
    private readonly plan: BucketPlan,
    private readonly collective: Collective,
  ) {
    this.#buckets = plan.buckets.map((members) => new Bucket(members, variables));
  }

  ready(index: number, gradLocal: Tensor): void {
    this.#buckets[this.plan.bucketOf[index]!]!.add(index, gradLocal);
    while (this.#buckets[this.#launched]?.isFull) this.#launchNext();
  }

  finish(): (Tensor | null)[] {
    while (this.#launched < this.#buckets.length) this.#launchNext();
    const results = new Array<Tensor | null>(this.variables.length).fill(null);
    for (const bucket of this.#buckets) bucket.finish(results);
    return results;
  }

  #launchNext(): void {
    this.#buckets[this.#launched++]!.launch(this.collective);
  }
}
