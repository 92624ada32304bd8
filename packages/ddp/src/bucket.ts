import { concat, ones, reshape, split, tidy, zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, Pending } from '@acc/contract';

/**
 * Gradients of a few variables on their way over the ranks as one flat tensor. Behind the gradients it carries one
 * number for each variable: 1 where this rank had a gradient. Summed over ranks these tell which variables no rank used,
 * at no further call.
 */
export class Bucket {
  readonly #grads = new Map<number, Tensor>();
  #pending: Pending<Tensor> | undefined;

  /** @param members Positions in `variables`. */
  constructor(
    private readonly members: readonly number[],
    private readonly variables: readonly Variable[],
  ) {}

  get isFull(): boolean {
    return this.#grads.size === this.members.length;
  }

  /** Takes over a gradient. */
  add(index: number, grad: Tensor): void {
    this.#grads.set(index, grad);
  }

  /** Starts the sum over ranks. Variables without a gradient take part with zeros. */
  launch(collective: Collective): void {
    const flat = tidy(() => concat([...this.#flatGrads(), this.#flags()]));
    for (const grad of this.#grads.values()) grad.dispose();
    this.#pending = collective.allReduceAsync(flat, 'sum', { donate: true, agreed: true });
  }

  /** Waits for the sum and puts each gradient at its variable's place; null where no rank had one. */
  finish(results: (Tensor | null)[]): void {
    const sum = this.#pending!.wait();
    const sizes = this.members.map((i) => this.variables[i]!.size);
    const parts = split(sum, [...sizes, this.members.length]);
    const used = this.isFull ? undefined : parts[parts.length - 1]!.dataSync();
    this.members.forEach((index, k) => {
      const isUsed = used === undefined || used[k]! > 0;
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
