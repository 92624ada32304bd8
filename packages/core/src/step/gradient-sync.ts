import type { NamedTensorMap, Variable } from '@tensorflow/tfjs-core';
import { finallyAfter, type Strategy } from '@acc/contract';
import { requireAveraged } from './averaged.js';

/**
 * Knows when gradients are reduced over ranks: in the backward pass, when an optimizer applies them,
 * or not at all. They are not reduced in `noSync` and while ranks train alone (`LocalSGD`,
 * `DiLoCo`).
 */
export class GradientSync {
  /** The objects that let ranks train alone, and the variables that each of them averages. */
  readonly #averaged = new Map<object, ReadonlySet<Variable>>();
  readonly #strategy: Pick<Strategy, 'traits'>;
  #isLocal = false;

  constructor(strategy: Pick<Strategy, 'traits'>) {
    this.#strategy = strategy;
  }

  /** Runs `fn`. Its gradients stay local to this rank. */
  locally<T>(fn: () => T): T {
    const before = this.#isLocal;
    this.#isLocal = true;
    return finallyAfter(fn, () => (this.#isLocal = before));
  }

  /** Whether {@link locally} is running. */
  get isLocal(): boolean {
    return this.#isLocal;
  }

  /** Lets ranks train alone until `owner` ends it. `owner` averages the variables. */
  trainAlone(owner: object, averaged: readonly Variable[]): void {
    this.#averaged.set(owner, new Set(averaged));
  }

  /** Ends {@link trainAlone} of one owner. */
  endAlone(owner: object): void {
    this.#averaged.delete(owner);
  }

  /** Whether each rank trains its own parameters. */
  get isTrainingAlone(): boolean {
    return this.#averaged.size > 0;
  }

  /** @throws AccError `ACC_NOT_AVERAGED` for gradients of variables that no owner averages. */
  requireAveraged(grads: NamedTensorMap): void {
    requireAveraged(grads, [...this.#averaged.values()]);
  }

  /** Whether gradients are not reduced over ranks at all. */
  get isOff(): boolean {
    return this.#isLocal || this.isTrainingAlone;
  }

  /** Whether gradients are reduced and settled when an optimizer applies them. */
  get isAtApply(): boolean {
    return !this.isTrainingAlone && this.#strategy.traits.syncAt === 'apply';
  }

  /** Whether a backward pass gives this rank's own gradients. */
  get isAfterPass(): boolean {
    return this.isTrainingAlone || this.isAtApply;
  }

  /** Differs between two states in which a recorded step has different constants. In words. */
  get surroundings(): readonly string[] {
    const apart = this.#averaged.size;
    return [
      ...(this.#isLocal ? ['without reductions of gradients'] : []),
      ...(apart > 0 ? [`training apart ${apart} variables`] : []),
    ];
  }
}
