import {
  engine,
  keep,
  tidy,
  util,
  Variable,
  variable as createVariable,
  type Tensor,
} from '@tensorflow/tfjs-core';
import type { Defer, DeferredTensor } from '@acc/contract';
import { patch, type Undo } from '@acc/tfjs-internals';
import { replaceInitial } from './initial-values.js';
import { isLive, listedFor, livesWith } from './live-variables.js';

/** Where the values of a held variable come from. */
export interface HeldSource {
  readonly defer: Defer;
  /** Called when values are needed that are not in memory: it fills the variable. */
  load(): void;
  /**
   * The values for one read, which keeps nothing; see `DeferredInfo`. The reader disposes them.
   * Undefined if {@link load} is to be called.
   */
  readonly readOnce?: (() => Tensor | undefined) | undefined;
  /** Called when a program has given the variable new values. */
  readonly assigned?: (() => void) | undefined;
  /** Called when {@link HeldVariable.own} gets other values, as when a checkpoint is loaded. */
  forget(): void;
  /** Called after that. Returns whether it has written them where the elements are. */
  write?(values: Tensor): boolean;
  /** The error for a use after {@link HeldVariable.dispose}. */
  freed(variable: Variable): Error;
  /** The error for a tensor that shared values which have changed since. */
  outdated(variable: Variable): Error;
}

let created = 0;

/**
 * A variable of which this rank holds some elements, perhaps none. The variable keeps its shape; its
 * values are in memory only while they are needed. The elements of this rank are in {@link own},
 * which tfjs does not list among its variables.
 */
export class HeldVariable {
  /** The variable that optimizers update. */
  readonly own: Variable;
  readonly #source: HeldSource;
  readonly #ownOf: (whole: Tensor) => Tensor;
  readonly #restore: readonly Undo[];
  #deferred: DeferredTensor;

  /**
   * @param variable Has the values that all ranks start from.
   * @param ownOf This rank's elements of a tensor in the shape of the variable. It runs in a tidy.
   */
  constructor(
    readonly variable: Variable,
    ownOf: (whole: Tensor) => Tensor,
    source: HeldSource,
  ) {
    this.#ownOf = ownOf;
    this.#source = source;
    const name = `held_${created++}`;
    this.own = tidy(() => createVariable(ownOf(variable), false, name));
    delete engine().registeredVariables[name];
    livesWith(this.own, variable);
    const ofOwn = patch(this.own, 'assign', 'local values', (assign) => (values) => {
      source.forget();
      const fits = values.dtype === this.own.dtype && util.arraysEqual(values.shape, this.own.shape);
      if (!fits || !source.write?.(values)) assign.call(this.own, values);
    });
    this.#deferred = this.#release();
    const { assigned } = source;
    const ofVariable =
      assigned &&
      patch(variable, 'assign', 'local values', (assign) => (values) => {
        assign.call(variable, values);
        assigned();
      });
    this.#restore = ofVariable ? [ofOwn, ofVariable] : [ofOwn];
  }

  /** Whether a program has given the variable new values, which {@link takeOver} takes over. */
  get isAssigned(): boolean {
    if (!isLive(this.variable)) return false;
    return this.variable.dataId !== this.#deferred.tensor.dataId || this.#deferred.holders === 0;
  }

  /** Whether tensors besides the variable share its values. */
  get isShared(): boolean {
    return this.#deferred.holders > 2;
  }

  /** Whether the values of the variable are in memory. */
  get isFilled(): boolean {
    return this.#deferred.isFilled;
  }

  /** Keeps this rank's elements of the new values of the variable, and frees the others. */
  takeOver(): void {
    tidy(() => this.own.assign(this.#ownOf(this.variable)));
    const before = this.#deferred;
    this.#deferred = this.#release();
    before.tensor.dispose();
  }

  /** Gives the variable its whole values, the elements of `flat` from `begin` on. `flat` keeps its owner. */
  fill(flat: Tensor, begin: number): void {
    this.#deferred.fill(flat, begin);
  }

  /** Frees the values of the variable. */
  release(): void {
    this.#deferred.release();
  }

  /**
   * Separates the variable from tensors that share its values, before the values change. Their
   * values are gone.
   */
  separate(): void {
    const before = this.#deferred;
    this.#deferred = this.#release();
    before.release();
    before.tensor.dispose();
  }

  dispose(): void {
    const { tensor, isFilled } = this.#deferred;
    if (isLive(this.variable) && !isFilled && !this.isAssigned) lost.set(this.variable, tensor.dataId);
    for (const restore of this.#restore) restore();
    this.own.dispose();
    tensor.dispose();
  }

  /** Gives the variable a tensor without memory, in place of its values. */
  #release(): DeferredTensor {
    const { shape, dtype } = this.variable;
    const source = this.#source;
    const requireCurrent = () => {
      if (this.own.isDisposed) throw source.freed(this.variable);
      if (this.#deferred !== deferred) throw source.outdated(this.variable);
    };
    const { readOnce: read } = source;
    const readOnce =
      read &&
      (() => {
        requireCurrent();
        return read();
      });
    const deferred: DeferredTensor = source.defer({ shape, dtype, like: this.own, readOnce }, () => {
      requireCurrent();
      source.load();
    });
    const { variable } = this;
    replaceInitial(variable, () => Variable.prototype.assign.call(variable, keep(deferred.tensor)));
    return deferred;
  }
}

/** The data of variables whose values were on several ranks, and are gone. */
const lost = new WeakMap<Variable, object>();

/** Whether the values of a variable are gone, because the Accelerator that held them was freed. */
export const hasLostValues = (variable: Variable): boolean =>
  lost.has(variable) && lost.get(variable) === variable.dataId;

/**
 * Runs `fn` while tfjs knows this rank's elements under the names of their variables. Optimizers
 * find variables by name, so they update the elements, and keep state of their size.
 */
export function withHeldRegistered<T>(
  held: readonly Pick<HeldVariable, 'own' | 'variable'>[],
  fn: () => T,
): T {
  const { registeredVariables } = engine();
  const before = held.map(({ own, variable }) => {
    const { name } = listedFor(variable);
    return { own, ownName: own.name, name, registered: registeredVariables[name]! };
  });
  for (const { own, name } of before) register(own, name);
  try {
    return fn();
  } finally {
    for (const { own, ownName, name, registered } of before) {
      (own as { name: string }).name = ownName;
      registeredVariables[name] = registered;
    }
  }

  function register(own: Variable, name: string): void {
    (own as { name: string }).name = name;
    registeredVariables[name] = own;
  }
}
