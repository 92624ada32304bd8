import type { Optimizer } from '@tensorflow/tfjs-core';
import { isLive } from '@acc/kernels';
import type { ModelInternals } from '@acc/tfjs-internals';
import { optimizerStateOf } from '../presets/kernels.js';

/** The models and optimizers that were prepared. */
export class PreparedObjects {
  readonly #optimizers = new Set<Optimizer>();
  /** Each LayersModel, in the order of preparation. */
  readonly models = new Set<ModelInternals>();

  /** The optimizers whose state was not freed, in the same order on every rank. */
  get optimizers(): readonly Optimizer[] {
    return [...this.#optimizers].filter(hasItsState);
  }

  has(optimizer: Optimizer): boolean {
    return this.#optimizers.has(optimizer);
  }

  add(optimizer: Optimizer): void {
    this.#optimizers.add(optimizer);
  }
}

/**
 * Whether an optimizer still has its state. tfjs's `disposeVariables` frees the state of all
 * optimizers. An optimizer without its state takes no further step.
 */
function hasItsState(optimizer: Optimizer): boolean {
  const state = optimizerStateOf(optimizer);
  if (!state) return true;
  const slots = Object.values(state.slots).flatMap((list) => list.map(({ variable }) => variable));
  return [...slots, ...state.scalars].every(isLive);
}
