import {
  engine,
  keep,
  mul,
  reshape,
  slice,
  tidy,
  variable as createVariable,
  type Tensor,
  type Variable,
} from '@tensorflow/tfjs-core';
import { patch } from '@acc/tfjs-internals';
import type { Defer, DeferredTensor } from '@acc/contract';
import { isLive } from '@acc/kernels';
import { freed, outdated } from './errors.js';
import type { Range } from './layout.js';

/** Where the values of a variable come from. */
export interface ShardSource {
  readonly defer: Defer;
  /** Called when values are needed that are not in memory: it fills the shards of the unit. */
  load(): void;
  /** Called when {@link Shard.own} was assigned other values, as when a checkpoint is loaded. */
  forget(): void;
}

let created = 0;

/**
 * A variable whose elements are divided over ranks. The variable keeps its shape; its values are in
 * memory only while its unit is gathered. The elements of this rank are in {@link own}, which tfjs
 * does not list among its variables.
 */
export class Shard {
  /** `[length]`, what optimizers update. */
  readonly own: Variable;
  #deferred: DeferredTensor;

  /**
   * @param variable Has the values that all ranks start from.
   * @param range This rank's elements.
   */
  constructor(
    readonly variable: Variable,
    readonly range: Range,
    private readonly source: ShardSource,
  ) {
    const name = `fsdp/shard_${created++}`;
    this.own = tidy(() => createVariable(this.#ownElements(), false, name));
    delete engine().registeredVariables[name];
    patch(this.own, 'assign', (assign) => (values) => {
      assign.call(this.own, values);
      source.forget();
    });
    this.#deferred = this.#release();
  }

  get length(): number {
    return this.range.end - this.range.begin;
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

  /** Keeps this rank's elements of the new values of the variable, and frees the others. */
  takeOver(): void {
    tidy(() => this.own.assign(this.#ownElements()));
    const before = this.#deferred;
    this.#deferred = this.#release();
    before.tensor.dispose();
  }

  /** Gives the variable its whole values. `values` keeps its owner. */
  fill(values: Tensor): void {
    this.#deferred.fill(values);
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

  /** This rank's elements of a tensor in the shape of the variable. */
  cut(whole: Tensor): Tensor {
    return tidy(() => slice(reshape(whole, [-1]), [this.range.begin], [this.length]));
  }

  dispose(): void {
    this.own.dispose();
    this.#deferred.tensor.dispose();
  }

  #ownElements(): Tensor {
    // A slice may be a view that keeps the whole variable; a shard has memory of its own.
    return mul(this.cut(this.variable), 1);
  }

  /** Gives the variable a tensor without memory, in place of its values. */
  #release(): DeferredTensor {
    const deferred = this.source.defer(this.variable, () => {
      if (this.own.isDisposed) throw freed(this.variable);
      if (this.#deferred !== deferred) throw outdated(this.variable);
      this.source.load();
    });
    this.variable.assign(keep(deferred.tensor));
    return deferred;
  }
}
