import { concat, ones, reshape, split, tidy, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';
import type { CommHook } from './comm-hook.js';

/** How gradients go over the ranks. */
export interface Transport {
  readonly collective: Collective;
  /** Undefined: as a plain sum. */
  readonly hook: CommHook | undefined;
  /** False: a variable that a rank did not use is an error. */
  readonly findUnused: boolean;
}

/**
 * Gradients of a few variables on their way over the ranks as one flat tensor. Where no hook changes what travels, one
 * number for each variable follows the gradients: 1 where this rank had one. Summed over ranks these tell how many ranks
 * used a variable, at no further call.
 */
export class Bucket {
  readonly #grads = new Map<number, Tensor>();
  #pending: Pending<Tensor> | undefined;
  #hasFlags = false;

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
    this.#hasFlags = !hook;
    const flat = tidy(() => concat([...this.#flatGrads(), ...(hook ? [] : [this.#flags()])]));
    for (const grad of this.#grads.values()) grad.dispose();
    const variables = this.members.map((i) => this.variables[i]!);
    this.#pending = hook
      ? hook.reduce({ id: this.id, gradsLocal: flat, variables, collective })
      : collective.allReduceAsync(flat, 'sum', { donate: true, agreed: true });
  }

  /**
   * Waits for the sum and puts each gradient at its variable's place; null where no rank had one.
   *
   * @param users How many ranks used each of the variables, where that is known already.
   */
  finish(results: (Tensor | null)[], users: ArrayLike<number> | undefined): void {
    const sum = this.#pending!.wait();
    const sizes = this.members.map((i) => this.variables[i]!.size);
    const parts = split(sum, this.#hasFlags ? [...sizes, this.members.length] : sizes);
    // Where this rank had all of them, nothing needs to be read.
    const flags = users || this.isFull ? undefined : parts[parts.length - 1]!.dataSync();
    this.members.forEach((index, k) => {
      const isUsed = this.has(index) || (users ? users[index]! : flags![k]!) > 0;
      results[index] = isUsed ? reshape(parts[k]!, this.variables[index]!.shape) : null;
    });
    sum.dispose();
    for (const part of parts) part.dispose();
  }

  #flatGrads(): Tensor[] {
    return this.members.map((i) => {
      const grad = this.#grads.get(i);
      return grad ? reshape(grad, [-1]) : zeros([this.variables[i]!.size]);
    });
  }

  #flags(): Tensor {
    if (this.isFull) return ones([this.members.length]);
    return concat(this.members.map((i) => (this.#grads.has(i) ? ones([1]) : zeros([1]))));
  }
}
