import { util, type Variable } from '@tensorflow/tfjs-core';
import type { Collective } from '@acc/contract';
import { planBuckets, type BucketPlan } from './bucket-plan.js';
import { requireSameVariables } from './same-variables.js';

const FIRST_BUCKET_BYTES = 1024 * 1024;

/**
 * The bucket plans of a program. Loops reduce the gradients of the same few lists of variables
 * again and again. Ranks compare their variables when a list is new.
 */
export class Plans {
  readonly #plans = new Map<string, BucketPlan>();
  readonly #lists: (readonly Variable[])[] = [];

  constructor(private readonly bucketBytes: number) {}

  of(variables: readonly Variable[], collective: Collective): BucketPlan {
    const plan = this.#plans.get(keyOf(variables));
    if (plan) return plan;
    requireSameVariables(variables, collective);
    return this.#add(variables);
  }

  /**
   * Sends the lists that `fromRank` has seen to every rank. A rank without data may have seen fewer
   * lists.
   */
  share(prepared: readonly Variable[], collective: Collective, fromRank: number): void {
    const places = new Map(prepared.map((variable, i) => [variable, i]));
    const local = this.#lists.map((list) => list.map((variable) => places.get(variable)!));
    for (const list of collective.broadcastObject(local, fromRank)) {
      const variables = list.map((i) => prepared[i]!);
      if (!this.#plans.has(keyOf(variables))) this.#add(variables);
    }
  }

  #add(variables: readonly Variable[]): BucketPlan {
    const bytes = variables.map(({ size, dtype }) => size * util.bytesPerElement(dtype));
    const plan = { ...planBuckets(bytes, this.bucketBytes, FIRST_BUCKET_BYTES), id: this.#lists.length };
    this.#plans.set(keyOf(variables), plan);
    this.#lists.push(variables);
    return plan;
  }
}

const keyOf = (variables: readonly Variable[]): string => variables.map(({ id }) => id).join();
