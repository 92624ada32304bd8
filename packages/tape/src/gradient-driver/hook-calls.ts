import type { Tensor, Variable } from '@tensorflow/tfjs-core';
import type { ActionOptions, RecordedAction, Recorder, TapeHooks, TapePhase } from '@acc/contract';

/** An operator that uses variables. */
export interface OperatorUse {
  readonly variables: readonly Variable[];
  readonly phase: TapePhase;
  /** Whether it contains no other operators. */
  readonly isSingle: boolean;
}

/** Runs an action of hooks. In a recorded step it runs again in each replay. */
export type RunHook = (
  inputs: readonly Tensor[],
  action: RecordedAction,
  options?: ActionOptions,
) => readonly (Tensor | null)[];

/** Calls the hooks of participants. While a step is recorded, it says what replays do with them. */
export class HookCalls {
  /** The passes that participants take part in, since their last `end`. */
  readonly #passes = new Map<TapeHooks, { isOngoing: boolean }>();

  constructor(
    private readonly runHook: RunHook,
    private readonly recorder: () => Recorder | undefined,
  ) {}

  /** Calls the hook `end`, which the participant has. */
  end(hooks: TapeHooks): void {
    const pass = this.#passes.get(hooks);
    this.#passes.delete(hooks);
    const end = () => {
      hooks.end!();
      if (pass) pass.isOngoing = false;
    };
    this.runHook([], withoutResults(end), labelOf(hooks));
  }

  /** A function that calls a hook for one operator. */
  around(hooks: TapeHooks, use: OperatorUse): (name: 'before' | 'after') => void {
    const { variables, phase, isSingle } = use;
    const call = (name: 'before' | 'after') => hooks[name]!(variables, phase);
    if (!this.recorder()?.isRecording)
      return (name) =>
        hooks[name] &&
        this.runHook(
          [],
          withoutResults(() => call(name)),
        );
    // Its memory stays as it is, so native calls before and after it need not be separated.
    if (isSingle && hooks.isInert?.(variables, phase)) return (name) => hooks[name] && call(name);
    return this.#recorded(hooks, call);
  }

  #recorded(hooks: TapeHooks, call: (name: 'before' | 'after') => void): (name: 'before' | 'after') => void {
    const known = this.#passes.get(hooks);
    const pass = known ?? { isOngoing: false };
    this.#passes.set(hooks, pass);
    /** Whether `before` has run without `after`, in this run or in the current replay. */
    let isOpen = false;
    const run = (name: 'before' | 'after') => {
      call(name);
      isOpen = name === 'before';
      if (isOpen) pass.isOngoing = true;
    };
    // A replay that fails ends what its hooks have begun, as a pass does that throws.
    const undo = (end: () => unknown) => () => {
      try {
        this.runHook([], withoutResults(end));
      } catch {
        // The error of the replay is being thrown.
      }
    };
    const close = undo(() => isOpen && hooks.after && run('after'));
    const end = undo(() => !known && pass.isOngoing && hooks.end?.());
    const afterFailure = () => {
      close();
      end();
    };
    return (name) => {
      if (!hooks[name]) return;
      const options = { ...labelOf(hooks), ...(name === 'before' && { afterFailure }) };
      this.runHook(
        [],
        withoutResults(() => run(name)),
        options,
      );
    };
  }
}

function withoutResults(run: () => unknown): RecordedAction {
  return () => {
    run();
    return [];
  };
}

const labelOf = ({ what }: TapeHooks): ActionOptions => (what === undefined ? {} : { what });
