import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { finallyAfter, type Collective } from '@acc/contract';

/** What the collectives of a step are made for, so that ranks that take different steps find out. */
export class StepNames {
  readonly #names = new WeakMap<Optimizer, string>();
  #count = 0;
  #current: Optimizer | undefined;

  constructor(private readonly collective: Collective) {}

  /** Called in the same order on every rank. */
  add(optimizer: Optimizer): void {
    const name = `optimizer ${++this.#count} (${optimizer.constructor.name})`;
    this.#names.set(optimizer, name);
    // A message can then tell it, also where only another rank has come to it.
    this.collective.named(name, () => {});
  }

  /** Runs `compute`, whose gradients are the optimizer's, whatever variables it asks for. */
  ofOptimizer<T>(optimizer: Optimizer, compute: () => T): T {
    this.#current = optimizer;
    return finallyAfter(compute, () => (this.#current = undefined));
  }

  /** Of a backward pass over `variables`. */
  ofPass([first]: readonly Variable[]): string {
    return (this.#current && this.#names.get(this.#current)) ?? first!.name;
  }

  ofUpdate(optimizer: Optimizer): string {
    return this.#names.get(optimizer) ?? '';
  }
}
