import { tidy, type Variable } from '@tensorflow/tfjs-core';
import type { KernelLayer } from '@acc/contract';
import { isFakeQuantized, isLive } from '@acc/kernels';
import { buffersOf } from '@acc/tfjs-internals';
import type { WireDtype } from '@acc/placement';
import { cannotRound } from './errors.js';

/**
 * Weights of layers that the forward pass changes and no gradient does, rounded after each step. Ranges of fake
 * quantization are not: they count passes.
 */
export class RoundedBuffers {
  readonly #models = new Set<readonly Variable[]>();
  #kernels!: KernelLayer;

  /** @param dtype The type to which they are rounded. Undefined: they are not. */
  constructor(private readonly dtype: WireDtype) {}

  /** @throws AccError `ACC_PRECISION_UNSUPPORTED`. */
  attach(kernels: KernelLayer): void {
    this.#kernels = kernels;
    if (this.dtype && !kernels.precision) throw cannotRound(kernels.backendName);
  }

  /** Adds the weights of layers, and rounds them. Returns a function that removes them. */
  add(layers: readonly unknown[]): () => void {
    const variables = buffersOf(layers).filter((variable) => !isFakeQuantized(variable));
    this.#models.add(variables);
    this.round();
    return () => {
      this.#models.delete(variables);
    };
  }

  round(): void {
    const { dtype } = this;
    const { precision } = this.#kernels;
    if (!dtype || !precision) return;
    for (const variable of new Set([...this.#models].flat())) {
      if (!isLive(variable) || variable.dtype !== 'float32') continue;
      tidy(() => variable.assign(precision.cast(precision.cast(variable, dtype), 'float32')));
    }
  }

  clear(): void {
    this.#models.clear();
  }
}
