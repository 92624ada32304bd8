import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { Plugin } from '@acc/contract';
import type { TapeParticipants } from '@acc/tape';
import type { TrainedVariables } from './trained-variables.js';

export interface PluginSlotsOptions {
  readonly plugins: readonly Plugin[];
  readonly participants: () => TapeParticipants | undefined;
  readonly trained: TrainedVariables;
}

type Slot = <T>(compute: () => T) => T;

/** Runs forward and backward passes in the slots of plugins, and operators inside tape hooks. */
export class PluginSlots {
  readonly #options: PluginSlotsOptions;

  constructor(options: PluginSlotsOptions) {
    this.#options = options;
  }

  /** Runs a forward pass of a gradient computation. Plugins act on it only if it trains. */
  forward<T>(xs: readonly (Tensor | Variable)[], compute: () => T): T {
    if (xs.some((x) => this.#options.trained.takes(x as Variable))) return this.predict(compute);
    const participants = this.#options.participants();
    return participants ? participants.forward(compute) : compute();
  }

  /** Runs a forward pass of prepared models without gradients. */
  predict<T>(compute: () => T): T {
    const participants = this.#options.participants();
    const run = () => this.#inside('forward', compute);
    return participants ? participants.forward(run) : run();
  }

  backward<T>(compute: () => T): T {
    return this.#inside('backward', compute);
  }

  /** Runs `compute` inside the slots that plugins have now, without a list of them in each pass. */
  #inside<T>(name: 'forward' | 'backward', compute: () => T): T {
    const { plugins } = this.#options;
    let run = compute;
    for (let index = plugins.length - 1; index >= 0; index--) {
      const plugin = plugins[index]!;
      if (!plugin[name]) continue;
      const inner = run;
      run = () => plugin[name]!(inner);
    }
    return run();
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
