import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Plugin } from '@acc/contract';
import type { TapeParticipants } from '@acc/tape';
import type { TrainedVariables } from './trained-variables.js';

export interface PluginSlotsOptions {
  readonly plugins: readonly Plugin[];
  readonly participants: TapeParticipants | undefined;
  readonly trained: TrainedVariables;
}

type Slot = <T>(compute: () => T) => T;

/** Runs forward and backward passes in the slots of plugins, and operators inside tape hooks. */
export class PluginSlots {
  readonly #options: PluginSlotsOptions;
  readonly #forward: readonly Slot[];
  readonly #backward: readonly Slot[];

  constructor(options: PluginSlotsOptions) {
    this.#options = options;
    this.#forward = options.plugins.flatMap((plugin) => plugin.forward?.bind(plugin) ?? []);
    this.#backward = options.plugins.flatMap((plugin) => plugin.backward?.bind(plugin) ?? []);
  }

  /** Runs a forward pass of a gradient computation. Plugins act on it only if it trains. */
  forward<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T {
    const { participants, trained } = this.#options;
    if (xs.some((x) => trained.takes(x as Variable))) return this.predict(compute);
    return participants ? participants.forward(compute) : compute();
  }

  /** Runs a forward pass of prepared models without gradients. */
  predict<T>(compute: () => T): T {
    const { participants } = this.#options;
    if (!participants) return inside(this.#forward, compute);
    return participants.forward(() => inside(this.#forward, compute));
  }

  backward<T>(compute: () => T): T {
    return inside(this.#backward, compute);
  }

  /** Returns a function that runs a forward pass later as plugins would run it now. */
  capture(): <T>(compute: () => T) => T {
    const captured = this.#options.plugins.flatMap((plugin) => plugin.capture?.() ?? []);
    return (compute) => inside(captured, compute);
  }
}

/** Runs `compute` inside every slot. The first slot is the outermost. */
function inside<T>(slots: readonly Slot[], compute: () => T): T {
  return slots.reduceRight<() => T>((inner, slot) => () => slot(inner), compute)();
}
