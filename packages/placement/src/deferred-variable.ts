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
import { isLive, livesWith, replaceInitial } from '@acc/kernels';
import { patch, type Undo } from '@acc/tfjs-internals';
import type { DistributedVariable } from './distributed-variable.js';
import type { Placement } from './placement.js';

/** Where the values of a deferred variable come from. */
export interface DeferredSource {
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
  /** Called when {@link DeferredVariable.local} gets other values, as when a checkpoint is loaded. */
  forget(): void;
  /** Called after that. Returns whether it has written them where the elements are. */
  write?(values: Tensor): boolean;
  /** The error for a use after {@link DeferredVariable.dispose}. */
  freed(variable: Variable): Error;
  /** The error for a tensor that shared values which have changed since. */
  outdated(variable: Variable): Error;
}

/** Where the values of `full` are. */
export type DeferredState =
  /** Nowhere. A read calls {@link DeferredSource.load}. */
  | 'released'
  /** In memory, by {@link DeferredVariable.fill}. */
  | 'filled'
  /** A program has given the variable others, which {@link DeferredVariable.takeOver} takes over. */
  | 'assigned';

let created = 0;

/**
 * A variable of which this rank has some elements, perhaps none. `full` keeps its shape; its values are
 * in memory only while they are needed.
 */
export abstract class DeferredVariable implements DistributedVariable {
  abstract readonly placement: Placement;
  readonly local: Variable;
  readonly #source: DeferredSource;
  readonly #restore: readonly Undo[];
  #deferred: DeferredTensor;

  /**
   * @param full Has the values that all ranks start from.
   * @param localOf See {@link DistributedVariable}. It runs in a tidy.
   */
  constructor(
    readonly full: Variable,
    readonly localOf: (full: Tensor) => Tensor,
    source: DeferredSource,
  ) {
    this.#source = source;
    const name = `deferred_${created++}`;
    this.local = tidy(() => createVariable(this.ownMemory(localOf(full)), false, name));
    delete engine().registeredVariables[name];
    livesWith(this.local, full);
    const ofLocal = patch(this.local, 'assign', 'local values', (assign) => (values) => {
      source.forget();
      const fits = values.dtype === this.local.dtype && util.arraysEqual(values.shape, this.local.shape);
      if (!fits || !source.write?.(values)) assign.call(this.local, values);
    });
    this.#deferred = this.#release();
    const { assigned } = source;
    const ofFull =
      assigned &&
      patch(full, 'assign', 'local values', (assign) => (values) => {
        assign.call(full, values);
        assigned();
      });
    this.#restore = ofFull ? [ofLocal, ofFull] : [ofLocal];
  }

  /** Called in a tidy with a result of {@link localOf}, for `local` to keep. */
  protected ownMemory(local: Tensor): Tensor {
    return local;
  }

  get state(): DeferredState {
    const { tensor, holders, isFilled } = this.#deferred;
    if (isLive(this.full) && (this.full.dataId !== tensor.dataId || holders === 0)) return 'assigned';
    return isFilled ? 'filled' : 'released';
  }

  /** Whether tensors besides the variable share its values. */
  get isShared(): boolean {
    return this.#deferred.holders > 2;
  }

  /** Keeps this rank's elements of the new values of the variable, and frees the others. */
  takeOver(): void {
    tidy(() => this.local.assign(this.ownMemory(this.localOf(this.full))));
    const before = this.#deferred;
    this.#deferred = this.#release();
    before.tensor.dispose();
  }

  /** Gives `full` its values, the elements of `flat` from `begin` on. `flat` keeps its owner. */
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
    const { tensor } = this.#deferred;
    if (isLive(this.full) && this.state === 'released') lost.set(this.full, tensor.dataId);
    for (const restore of this.#restore) restore();
    this.local.dispose();
    tensor.dispose();
  }

  /** Gives the variable a tensor without memory, in place of its values. */
  #release(): DeferredTensor {
    const { shape, dtype } = this.full;
    const source = this.#source;
    const requireCurrent = () => {
      if (this.local.isDisposed) throw source.freed(this.full);
      if (this.#deferred !== deferred) throw source.outdated(this.full);
    };
    const { readOnce: read } = source;
    const readOnce =
      read &&
      (() => {
        requireCurrent();
        return read();
      });
    const deferred: DeferredTensor = source.defer({ shape, dtype, like: this.local, readOnce }, () => {
      requireCurrent();
      source.load();
    });
    const { full } = this;
    replaceInitial(full, () => Variable.prototype.assign.call(full, keep(deferred.tensor)));
    return deferred;
  }
}

/** The data of variables whose values were on several ranks, and are gone. */
const lost = new WeakMap<Variable, object>();

/** Whether the values of a variable are gone, because the Accelerator that held them was freed. */
export const hasLostValues = (variable: Variable): boolean =>
  lost.has(variable) && lost.get(variable) === variable.dataId;
