import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import { AccError, type GradientReduction } from '@acc/contract';
import type { SharedBuffers } from './batch-norm/shared-buffers.js';
import type { BucketPlan } from './bucket-plan.js';
import { Bucket, type Transport } from './bucket.js';
import { countUsers } from './count-users.js';

export interface ReductionTransport extends Transport {
  /** False: buckets are sent only when all gradients are complete. */
  readonly overlaps: boolean;
  /** Buffers that are sent together with the gradients. */
  readonly buffers: SharedBuffers;
}

/**
 * The reduction of one backward pass. A bucket is sent as soon as its gradients are complete, while
 * backward continues. All ranks send buckets in the order of the plan, whatever the order of their
 * gradients, because ranks must make the same calls.
 */
export class BucketedReduction implements GradientReduction {
  readonly #buckets: readonly Bucket[];
  #launched = 0;

  constructor(
    private readonly variables: readonly Variable[],
    private readonly plan: BucketPlan,
    private readonly transport: ReductionTransport,
  ) {
    this.#buckets = plan.buckets.map((members, i) => new Bucket(`${plan.id}.${i}`, members, variables));
  }

  ready(index: number, gradLocal: Tensor): void {
    this.#buckets[this.plan.bucketOf[index]!]!.add(index, gradLocal);
    if (!this.transport.overlaps) return;
    while (this.#buckets[this.#launched]?.isFull) this.#launchNext();
  }

  finish(): (Tensor | null)[] {
    while (this.#launched < this.#buckets.length) this.#launchNext();
    const { hook, findUnused, buffers, collective } = this.transport;
    const travelling = buffers.launch(collective);
    const users = hook || !findUnused ? this.#countUsers() : undefined;
    const results = new Array<Tensor | null>(this.variables.length).fill(null);
    for (const bucket of this.#buckets) bucket.finish(results, users);
    hook?.end();
    buffers.finish(travelling);
    if (!findUnused) requireAllUsed(this.variables, users!);
    return results;
  }

  #launchNext(): void {
    this.#buckets[this.#launched++]!.launch(this.transport);
  }

  /** The number of ranks with a gradient of each variable. */
  #countUsers(): ArrayLike<number> {
    const { bucketOf } = this.plan;
    const local = this.variables.map((_, index) => this.#buckets[bucketOf[index]!]!.has(index));
    const users = countUsers(local, this.transport.collective, { agreed: true });
    const counts = users.dataSync();
    users.dispose();
    return counts;
  }
}

/** Throws on every rank, because all ranks have the same counts. */
function requireAllUsed(variables: readonly Variable[], users: ArrayLike<number>): void {
  const most = Math.max(1, ...Array.from(users));
  const unused = variables.filter((_, i) => users[i]! < most).map(({ name }) => name);
  if (unused.length === 0) return;
  throw new AccError(
    'ACC_VARIABLES_UNUSED',
    `The loss of at least one rank does not depend on ${unused.length} of ${variables.length} variables: ${unused.slice(0, 5).join(', ')}${unused.length > 5 ? ', …' : ''}.`,
    {
      help: 'Pass the variables that the loss uses to minimize, or leave out findUnused: false.',
      details: { unused },
    },
  );
}
