import type { Optimizer, Variable } from '@tensorflow/tfjs-core';
import { finallyAfter, type Collective } from '@acc/contract';

/**
 * Names the collectives of a step after its optimizer, so that ranks detect that they take
 * different steps.
 */
export class StepNames {
  readonly #names = new WeakMap<Optimizer, string>();
  #count = 0;
  #current: Optimizer | undefined;

  constructor(private readonly collective: Collective) {}

  /** Registers an optimizer. Ranks call it in the same order. */
  add(optimizer: Optimizer): void {
    const name = `optimizer ${++this.#count} (${optimizer.constructor.name})`;
    this.#names.set(optimizer, name);
    // Error messages can then use the name even if only another rank has reached the optimizer.
    this.collective.named(name, () => {});
  }

  /** Runs `compute`. Its backward passes belong to the optimizer, for any variables. */
  ofOptimizer<T>(optimizer: Optimizer, compute: () => T): T {
    this.#current = optimizer;
    return finallyAfter(compute, () => (this.#current = undefined));
  }

  /** The name of a backward pass over `variables`. */
  ofPass([first]: readonly Variable[]): string {
    return (this.#current && this.#names.get(this.#current)) ?? first!.name;
  }

  ofUpdate(optimizer: Optimizer): string {
    return this.#names.get(optimizer) ?? '';
  }
}
