import {
  concat,
  fill,
  reshape,
  split,
  tensor1d,
  tidy,
  zeros,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';
import type { PassHook } from './comm-hooks/settling.js';

/** How gradients go over the ranks. */
export interface Transport {
  readonly collective: Collective;
  /** Undefined: as a plain sum. */
  readonly hook: PassHook | undefined;
  /** False: a variable that a rank did not use is an error. */
  readonly findUnused: boolean;
}

/**
 * Gradients of a few variables on their way over the ranks. They are summed where they lie, in one collective; where a hook
 * decides what travels, as one flat tensor. Without a hook one number for each variable travels along: 1 where this rank had
 * a gradient. Summed over ranks these tell how many ranks used a variable, at no further call.
 */
export class Bucket {
  readonly #grads = new Map<number, Tensor>();
  #travelling: { readonly flat: Pending<Tensor> } | { readonly list: Pending<Tensor[]> } | undefined;

  /**
   * @param id See `GradientBucket.id`.
   * @param members Positions in `variables`.
   */
  constructor(
    private readonly id: string,
    readonly members: readonly number[],
    private readonly variables: readonly Variable[],
  ) {}

  get isFull(): boolean {
    return this.#grads.size === this.members.length;
  }

  has(index: number): boolean {
    return this.#grads.has(index);
  }

  /** Takes over a gradient. */
  add(index: number, grad: Tensor): void {
    this.#grads.set(index, grad);
  }

  /** Starts the sum over ranks. Variables without a gradient take part with zeros. */
  launch({ collective, hook }: Transport): void {
    const grads = this.members.map((i) => this.#grads.get(i) ?? zeros(this.variables[i]!.shape));
    if (hook) {
      const flat = tidy(() => concat(grads.map((grad) => reshape(grad, [-1]))));
      for (const grad of grads) grad.dispose();
      const variables = this.members.map((i) => this.variables[i]!);
      this.#travelling = { flat: hook.reduce({ id: this.id, gradsLocal: flat, variables, collective }) };
    } else {
      // No host memory where all are there.
      const flags = this.isFull
        ? fill([this.members.length], 1)
        : tensor1d(this.members.map((i) => Number(this.#grads.has(i))));
      const options = { donate: true, agreed: true };
      this.#travelling = { list: collective.allReduceCoalescedAsync([...grads, flags], 'sum', options) };
    }
  }

  /**
   * Waits for the sum and puts each gradient at its variable's place; null where no rank had one.
   *
   * @param users How many ranks used each of the variables, where that is known already.
   */
  finish(results: (Tensor | null)[], users: ArrayLike<number> | undefined): void {
    const { sums, flags } = this.#receive();
    // Where this rank had all of them, nothing needs to be read.
    const counts = users || this.isFull ? undefined : flags!.dataSync();
    flags?.dispose();
    this.members.forEach((index, k) => {
      const isUsed = this.has(index) || (users ? users[index]! : counts![k]!) > 0;
      if (isUsed) results[index] = sums[k]!;
      else sums[k]!.dispose();
    });
  }

  #receive(): { sums: Tensor[]; flags?: Tensor } {
    const travelling = this.#travelling!;
    if ('list' in travelling) {
      const sums = travelling.list.wait();
      return { flags: sums[this.members.length]!, sums };
    }
    const flat = travelling.flat.wait();
    const shapes = this.members.map((i) => this.variables[i]!.shape);
    const sums = tidy(() =>
      split(
        flat,
        this.members.map((i) => this.variables[i]!.size),
      ).map((part, k) => reshape(part, shapes[k]!)),
    );
    flat.dispose();
    return { sums };
  }
}
