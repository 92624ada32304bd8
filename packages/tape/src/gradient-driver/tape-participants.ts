import { HookCalls } from '#platform/hook-calls';
import { Variable, type NamedTensorMap, type Tensor } from '@tensorflow/tfjs-core';
import {
  finallyAfter,
  type ActionOptions,
  type RecordedAction,
  type Recorder,
  type TapeHooks,
} from '@acc/contract';
import { besideTape, engineInternals, patch, type TapeNode, type Undo } from '@acc/tfjs-internals';
import { freeSaved, pack, packSaved, type Pack, type StandIn } from './packed-tensors.js';
import type { OperatorUse } from './hook-calls.js';
import { inputOf, isComputedAgain } from './tape.js';

let isInHook = false;

/** Runs code of a hook. */
function runInHook(run: () => readonly (Tensor | null)[]): readonly (Tensor | null)[] {
  const before = isInHook;
  isInHook = true;
  try {
    return engineInternals().tidy('tape hook', () => besideTape(() => [...run()]));
  } finally {
    isInHook = before;
  }
}

/** Whether a hook is running. */
export const runsHook = (): boolean => isInHook;

/** The participants that act on each operator of a pass. */
export class TapeParticipants {
  readonly #engine = engineInternals();
  /** The variables of operators that are running. */
  readonly #inUse = new Set<Variable>();
  /** The variables that operators have used, by the data that they had then. */
  readonly #byData = new WeakMap<object, Variable>();
  readonly #packs: readonly Pack[];
  #isForward = false;

  /**
   * @param hooks The hooks of the strategy come first.
   * @param recorder Returns the recorder of the active backend. A recorded step calls hooks again
   * in each replay.
   */
  constructor(
    private readonly hooks: readonly TapeHooks[],
    private readonly recorder: () => Recorder | undefined,
  ) {
    this.#packs = hooks.flatMap((each) => (each.pack ? each.pack.bind(each) : []));
  }

  /** Runs a forward computation and calls hooks around its operators. */
  forward<T>(compute: () => T): T {
    if (this.#isForward) return compute();
    this.#isForward = true;
    const undo = this.#announceOperators();
    return finallyAfter(compute, () => {
      this.#isForward = false;
      undo();
    });
  }

  /** Tells the participants that an outermost pass has ended. Does nothing inside another one. */
  end(): void {
    if (this.#engine.state.gradientDepth > 0 || isInHook) return;
    for (const hooks of this.hooks) if (hooks.end && !hooks.isIdle?.()) this.#calls.end(hooks);
  }

  /** Packs the tensors that operators on `tape` save from now on. */
  packOn(tape: TapeNode[]): void {
    if (this.#packs.length === 0) return;
    const add = Array.prototype.push;
    tape.push = (node: TapeNode) => {
      try {
        packSaved(node, this.#packs, this.#runHook);
      } catch (error) {
        freeSaved(node);
        throw error;
      }
      return add.call(tape, node);
    };
  }

  /**
   * Packs the values of a variable, which then need not be kept. Undefined if no hook packs them.
   */
  packVariable(variable: Variable): StandIn | undefined {
    if (this.#packs.length === 0) return undefined;
    const standIn = pack(variable, variable, this.#packs, this.#runHook);
    // The variable itself still exists, and the hook `before` loads its values.
    return standIn && { restore: standIn.dispose, dispose: standIn.dispose };
  }

  /** Runs the gradient of a tape node. */
  aroundGradient<T>(node: TapeNode, run: () => T): T {
    // Operators that an activation checkpoint recomputes call hooks themselves.
    return isComputedAgain(node)
      ? run()
      : this.#around(node.inputs, { phase: 'backward', isSingle: true }, run);
  }

  /** Runs an action of hooks. In a recorded step it runs again in each replay. */
  readonly #runHook = (
    inputs: readonly Tensor[],
    action: RecordedAction,
    options?: ActionOptions,
  ): readonly (Tensor | null)[] => {
    const act = (given: readonly Tensor[]) => runInHook(() => action(given));
    const recorder = this.recorder();
    return recorder ? recorder.runAction(inputs, act, options) : act(inputs);
  };
  readonly #calls = new HookCalls(this.#runHook, () => this.recorder());

  #announceOperators(): Undo {
    const engine = this.#engine;
    return patch(engine, 'runKernelFunc', 'tape hooks', (own) => (operator) => {
      const run = () => own.call(engine, operator);
      const about = { phase: 'forward', isSingle: 'kernelName' in operator } as const;
      return isInHook ? run() : this.#around(operator.inputs, about, run);
    });
  }

  #around<T>(inputs: NamedTensorMap, about: Omit<OperatorUse, 'variables'>, run: () => T): T {
    const variables = this.#variablesIn(inputs);
    if (variables.length === 0) return run();
    for (const variable of variables) this.#inUse.add(variable);
    try {
      return this.#within(0, { ...about, variables }, run);
    } finally {
      for (const variable of variables) this.#inUse.delete(variable);
    }
  }

  /** The variables that the inputs are, or share values with, and that are not in use; each once. */
  #variablesIn(inputs: NamedTensorMap): Variable[] {
    const found: Variable[] = [];
    for (const name of Object.keys(inputs)) {
      const variable = this.#variableOf(inputOf(inputs, name));
      if (variable && !this.#inUse.has(variable) && !found.includes(variable)) found.push(variable);
    }
    return found;
  }

  #variableOf(input: Tensor | null | undefined): Variable | undefined {
    if (!input) return undefined;
    if (input instanceof Variable) {
      this.#byData.set(input.dataId, input);
      return input;
    }
    // A reshaped variable, for example, is a tensor with the variable's data.
    const variable = this.#byData.get(input.dataId);
    return variable?.dataId === input.dataId && !variable.isDisposed ? variable : undefined;
  }

  /** Calls the hooks of the participants from `index` on, nested in each other. */
  #within<T>(index: number, use: OperatorUse, run: () => T): T {
    const hooks = this.hooks[index];
    if (!hooks) return run();
    if (hooks.isIdle?.()) return this.#within(index + 1, use, run);
    const call = this.#calls.around(hooks, use);
    call('before');
    let result: T;
    try {
      result = this.#within(index + 1, use, run);
    } catch (error) {
      withoutErrors(() => call('after'));
      throw error;
    }
    call('after');
    return result;
  }
}

/**
 * Undefined if there are no participants. Nothing is patched then, and passes have no extra cost.
 */
export function tapeParticipants(
  candidates: readonly { readonly tape?: TapeHooks }[],
  recorder: () => Recorder | undefined,
): TapeParticipants | undefined {
  const hooks = candidates.flatMap(({ tape }) => tape ?? []);
  return hooks.length > 0 ? new TapeParticipants(hooks, recorder) : undefined;
}

/** Ignores errors of `call`: the error that is being thrown already describes the problem. */
function withoutErrors(call: () => void): void {
  try {
    call();
  } catch {
    // Another error is already being thrown.
  }
}
