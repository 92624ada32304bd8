import { together } from '@acc/checkpoint';
import type { Collective } from '@acc/contract';
import { requireFunction } from '../require-arguments.js';

/** The argument of a hook before `saveState` or `loadState`. */
export interface StateHookInfo {
  /** The prepared models, in the order of `prepare`. */
  readonly models: readonly object[];
  /** The path of the checkpoint as it was given. Undefined: `saveState` chooses a name. */
  readonly path: string | undefined;
}

/** Runs before a run is saved or loaded, on every rank. If it fails on one, it fails on all. */
export type StatePreHook = (info: StateHookInfo) => void | Promise<void>;

/** Ends what a function has registered. */
export interface RemovableHandle {
  /** A second call does nothing. */
  remove(): void;
}

/** The hooks of programs around checkpoints. */
export class StateHooks {
  readonly #hooks = { saveState: new Set<StatePreHook>(), loadState: new Set<StatePreHook>() };

  /** @throws AccError `ACC_INVALID_ARGUMENT` if `hook` is not a function. */
  add(before: 'saveState' | 'loadState', hook: StatePreHook): RemovableHandle {
    requireFunction(`register${before === 'saveState' ? 'Save' : 'Load'}StatePreHook`, hook);
    const hooks = this.#hooks[before];
    // The same function may be registered twice.
    const own: StatePreHook = (info) => hook(info);
    hooks.add(own);
    return { remove: () => void hooks.delete(own) };
  }

  /** Runs the hooks one after the other, in the order in which they were registered. */
  async run(before: 'saveState' | 'loadState', info: StateHookInfo, collective: Collective): Promise<void> {
    for (const hook of [...this.#hooks[before]]) await together(collective, async () => await hook(info));
  }
}
