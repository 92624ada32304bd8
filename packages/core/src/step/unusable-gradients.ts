import type { NamedTensorMap, Variable } from '@tensorflow/tfjs-core';

/** The variables whose last gradients must not be applied, by name. */
export class UnusableGradients {
  readonly #names = new Set<string>();

  /** Records the result of a pass over `variables`. */
  note(variables: readonly Variable[], isUsable: boolean): void {
    if (isUsable && this.#names.size === 0) return;
    for (const { name } of variables) {
      if (isUsable) this.#names.delete(name);
      else this.#names.add(name);
    }
  }

  /** Whether one of `grads` comes from a pass whose gradients were not usable. */
  hasAnyOf(grads: NamedTensorMap): boolean {
    return this.#names.size > 0 && Object.keys(grads).some((name) => this.#names.has(name));
  }

  clear(): void {
    this.#names.clear();
  }
}
