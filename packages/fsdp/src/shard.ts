import {
  engine,
  keep,
  mul,
  reshape,
  slice,
  tidy,
  util,
  Variable,
  variable as createVariable,
  type Tensor,
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
  /** Called when {@link Shard.own} gets other values, as when a checkpoint is loaded. */
  forget(): void;
  /** Called after that. Returns whether it has written them where the elements are. */
  write(shard: Shard, values: Tensor): boolean;
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
  /** The data of {@link own} in the buffer of its unit. */
  #placed: object | undefined;

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
      source.forget();
      const fits = values.dtype === this.own.dtype && util.arraysEqual(values.shape, this.own.shape);
      if (!fits || !source.write(this, values)) assign.call(this.own, values);
    });
    this.#deferred = this.#release();
  }

  get length(): number {
    return this.range.end - this.range.begin;
  }

  /** Whether {@link own} lies in the buffer of its unit. */
  get isPlaced(): boolean {
    return !this.own.isDisposed && this.own.dataId === this.#placed;
  }

  /** Moves {@link own} to the memory of `part`, which has the same values and keeps its owner. */
  place(part: Tensor): void {
    Variable.prototype.assign.call(this.own, part);
    this.#placed = part.dataId;
  }

  /** Gives {@link own} memory of its own, with the same values. */
  detach(): void {
    if (this.isPlaced) tidy(() => Variable.prototype.assign.call(this.own, mul(this.own, 1)));
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
