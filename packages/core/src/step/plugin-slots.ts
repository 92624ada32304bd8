import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Plugin } from '@acc/contract';
import type { TapeParticipants } from '../gradient-driver/tape-participants.js';
import type { TrainedVariables } from './trained-variables.js';

export interface PluginSlotsOptions {
  readonly plugins: readonly Plugin[];
  readonly participants: TapeParticipants | undefined;
  readonly trained: TrainedVariables;
}

/** Runs forward and backward passes in the slots of plugins, and operators inside tape hooks. */
export class PluginSlots {
  readonly #options: PluginSlotsOptions;
  readonly #forward: readonly Plugin[];
  readonly #backward: readonly Plugin[];

  constructor(options: PluginSlotsOptions) {
    this.#options = options;
    this.#forward = options.plugins.filter(({ forward }) => forward);
    this.#backward = options.plugins.filter(({ backward }) => backward);
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
    if (!participants) return this.#inForward(compute);
    return participants.forward(() => this.#inForward(compute));
  }

  backward<T>(compute: () => T): T {
    return this.#backward.reduceRight<() => T>((inner, plugin) => () => plugin.backward!(inner), compute)();
  }

  /** Returns a function that runs a forward pass later as plugins would run it now. */
  capture(): <T>(compute: () => T) => T {
    const captured = this.#options.plugins.flatMap((plugin) => plugin.capture?.() ?? []);
    return <T>(compute: () => T) =>
      captured.reduceRight<() => T>((inner, run) => () => run(inner), compute)();
  }

  /** Runs `compute` inside the slot of every plugin. The first plugin is the outermost. */
  #inForward<T>(compute: () => T): T {
    return this.#forward.reduceRight<() => T>((inner, plugin) => () => plugin.forward!(inner), compute)();
  }
}
