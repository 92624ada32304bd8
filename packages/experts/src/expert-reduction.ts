import { zeros, type Tensor, type Variable } from '@tensorflow/tfjs-core';
import type { Collective, GradientReduction, Pending } from '@acc/contract';
import { countUsers } from '@acc/ddp';

export interface ExpertReductionParts {
  readonly variables: readonly Variable[];
  /** The number of elements that this rank has of a variable. */
  readonly lengthOf: (variable: Variable) => number;
  /** The ranks with the same experts. */
  readonly replicas: Collective;
  /** All ranks that train together. */
  readonly collective: Collective;
}

/**
 * The sum of experts' gradients over the ranks with the same experts. The rows of the other ranks of
 * their group were computed here, so their gradients are in it. Gradients are sent from the last
 * variable to the first, each when it is complete, while backward continues.
 */
export class ExpertReduction implements GradientReduction {
  readonly #grads = new Map<number, Tensor>();
  readonly #isPresent: boolean[];
  readonly #travelling: Pending<Tensor>[] = [];
  #next: number;

  constructor(private readonly parts: ExpertReductionParts) {
    this.#isPresent = parts.variables.map(() => false);
    this.#next = parts.variables.length - 1;
  }

  ready(index: number, gradLocal: Tensor): void {
    this.#grads.set(index, gradLocal);
    this.#isPresent[index] = true;
    while (this.#grads.has(this.#next)) this.#launchNext();
  }

  finish(): (Tensor | null)[] {
    const { variables, collective } = this.parts;
    while (this.#next >= 0) this.#launchNext();
    if (variables.length === 0) return [];
    const users = countUsers(this.#isPresent, collective);
    const counts = this.#isPresent.every(Boolean) ? undefined : users.dataSync();
    users.dispose();
    return variables.map((_, i) => {
      const sum = this.#travelling[i]!.wait();
      if (this.#isPresent[i] || counts![i]! > 0) return sum;
      sum.dispose();
      return null;
    });
  }

  #launchNext(): void {
    const { variables, lengthOf, replicas } = this.parts;
    const place = this.#next--;
    const variable = variables[place]!;
    const grad = this.#grads.get(place) ?? zeros([lengthOf(variable)]);
    this.#grads.delete(place);
    this.#travelling[place] =
      replicas.size === 1
        ? { isDone: true, wait: () => grad }
        : replicas.named(variable.name, () => replicas.allReduceAsync(grad, 'sum', { donate: true }));
  }
}
