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

/** How gradients are reduced over ranks. */
export interface Transport {
  readonly collective: Collective;
  /** Undefined: a plain sum. */
  readonly hook: PassHook | undefined;
  /** False: a variable that a rank did not use is an error. */
  readonly findUnused: boolean;
}

/**
 * The gradients of a few variables while they are reduced over ranks. Without a hook they are
 * summed in place, in one collective. With a hook they are packed into one flat tensor. Without a
 * hook, one more number is sent for each variable: 1 if this rank has a gradient. The sums of these
 * numbers tell how many ranks used each variable, without another collective.
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

  /** Adds a gradient and takes ownership of it. */
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
      // If all gradients are there, the flags need no memory of the host.
      const flags = this.isFull
        ? fill([this.members.length], 1)
        : tensor1d(this.members.map((i) => Number(this.#grads.has(i))));
      const options = { donate: true, agreed: true };
      this.#travelling = { list: collective.allReduceCoalescedAsync([...grads, flags], 'sum', options) };
    }
  }

  /**
   * Waits for the sum and writes each gradient to the position of its variable. Writes null if no
   * rank had a gradient.
   *
   * @param users The number of ranks that used each variable, if already known.
   */
  finish(results: (Tensor | null)[], users: ArrayLike<number> | undefined): void {
    const { sums, flags } = this.#receive();
    // If this rank had all gradients, the counts need not be read.
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
