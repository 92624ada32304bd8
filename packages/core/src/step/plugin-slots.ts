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

  constructor(options: PluginSlotsOptions) {
    this.#options = options;
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
    const run = () => this.#inSlot('forward', compute);
    return participants ? participants.forward(run) : run();
  }

  backward<T>(compute: () => T): T {
    return this.#inSlot('backward', compute);
  }

  /** Returns a function that runs a forward pass later as plugins would run it now. */
  capture(): <T>(compute: () => T) => T {
    const captured = this.#options.plugins.flatMap((plugin) => plugin.capture?.() ?? []);
    return <T>(compute: () => T) =>
      captured.reduceRight<() => T>((inner, run) => () => run(inner), compute)();
  }

  /** Runs `compute` inside the slot of every plugin. The first plugin is the outermost. */
  #inSlot<T>(slot: 'forward' | 'backward', compute: () => T): T {
    const { plugins } = this.#options;
    const runFrom = (place: number): T => {
      for (let i = place; i < plugins.length; i++) {
        if (plugins[i]![slot]) return plugins[i]![slot]!(() => runFrom(i + 1));
      }
      return compute();
    };
    return runFrom(0);
  }
}
