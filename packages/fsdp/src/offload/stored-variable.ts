import { keep, tidy, Variable, type Tensor } from '@tensorflow/tfjs-core';
import type { Defer, DeferredTensor } from '@acc/contract';
import { besideTape, patch } from '@acc/tfjs-internals';
import { FLOAT_BYTES } from '@acc/placement';
import type { FileValues } from './value-file.js';
import type { Transfer } from './value-places.js';

/** The file behind stored variables. */
export interface StoredSource {
  readonly defer: Defer;
  reserve(bytes: number): number;
  free(offset: number, bytes: number): void;
  /** The values in the file, after a wait. The caller disposes them. */
  read(stored: StoredVariable): Tensor;
  /** Called before values are read for a program. It may release those that were read before. */
  noteRead(stored: StoredVariable): void;
}

/**
 * A variable whose values lie in a file, except while an optimizer updates them: float32 values, or the
 * words of packed ones. A read at another time brings them into memory.
 */
export class StoredVariable implements FileValues {
  readonly variable: Variable;
  /** The place in the file. */
  readonly offset: number;
  readonly #source: StoredSource;
  /** The first values, until others are written. */
  #initial: (() => Tensor) | undefined;
  /** Has the values of the variable while they are away. */
  #deferred: DeferredTensor | undefined;
  #writing: Transfer | undefined;

  /** @param given A variable, whose values are in memory, or the shape and first values of a new one. */
  constructor(given: Variable | NewVariable, source: StoredSource) {
    this.#source = source;
    if ('initial' in given) {
      this.#initial = given.initial;
      this.#deferred = this.#defer(given.shape);
      this.variable = this.#deferred.tensor.variable(false);
    } else {
      this.variable = given;
    }
    this.offset = source.reserve(this.byteLength);
    const restore = patch(this.variable, 'dispose', 'stored values', (dispose) => () => {
      dispose.call(this.variable);
      restore();
      this.#free();
    });
  }

  get shape(): readonly number[] {
    return this.variable.shape;
  }

  get dtype(): 'float32' | 'int32' {
    return this.variable.dtype === 'int32' ? 'int32' : 'float32';
  }

  get byteLength(): number {
    return this.variable.size * FLOAT_BYTES;
  }

  /** Whether the values of the variable are those of the file, or the first values. */
  get isAway(): boolean {
    const { variable } = this;
    return !variable.isDisposed && this.#deferred?.tensor.dataId === variable.dataId;
  }

  /** Whether the variable has memory of its own. */
  get isHere(): boolean {
    return !this.variable.isDisposed && !this.isAway;
  }

  /** The last write to the file; undefined if nothing was written. */
  get writing(): Transfer | undefined {
    return this.#writing;
  }

  /** Values that were never written. The caller disposes them. */
  firstValues(): Tensor {
    return this.#initial!();
  }

  /** Gives the variable memory of its own, for an update. `values` keeps its owner. */
  bring(values: Tensor): void {
    const deferred = this.#deferred!;
    // The tensor itself and the variable are two holders. Others keep the values from before the update.
    const isShared = deferred.holders > 2;
    if (!isShared) deferred.release();
    else if (!deferred.isFilled) deferred.fill(values);
    assign(this.variable, values);
    if (!isShared) return;
    this.#deferred = undefined;
    deferred.tensor.dispose();
  }

  /**
   * Called before other values of the variable are written. Tensors that share the earlier values
   * keep these in memory. Requires {@link isHere}.
   */
  separate(): void {
    const deferred = this.#deferred;
    if (!deferred) return;
    // The variable is no holder, because it has memory of its own.
    if (deferred.holders === 1) {
      deferred.release();
      return;
    }
    if (!deferred.isFilled) this.#load();
    this.#deferred = undefined;
    deferred.tensor.dispose();
  }

  /** Frees the memory of the variable, whose values are being written. Called after {@link separate}. */
  putAway(writing: Transfer): void {
    this.#writing = writing;
    this.#initial = undefined;
    this.#deferred ??= this.#defer(this.variable.shape, this.dtype);
    assign(this.variable, this.#deferred.tensor);
  }

  /** Brings values into memory for reads. `values` keeps its owner. */
  fill(values: Tensor): void {
    this.#deferred!.fill(values);
  }

  /** Frees values that were brought for reads. */
  release(): void {
    if (this.isAway) this.#deferred!.release();
  }

  #defer(shape: readonly number[], dtype: 'float32' | 'int32' = 'float32'): DeferredTensor {
    const deferred = this.#source.defer({ shape, dtype }, () => this.#load());
    keep(deferred.tensor);
    return deferred;
  }

  #load(): void {
    besideTape(() =>
      tidy(() => {
        this.#source.noteRead(this);
        this.fill(this.#writing ? this.#source.read(this) : this.firstValues());
      }),
    );
  }

  #free(): void {
    this.#deferred?.tensor.dispose();
    this.#deferred = undefined;
    this.#source.free(this.offset, this.byteLength);
  }
}

export interface NewVariable {
  readonly shape: readonly number[];
  /** Called when the first values are needed. The caller disposes them. */
  readonly initial: () => Tensor;
}

/** Assigns without the hooks that a variable of a shard has for assignments of programs. */
function assign(variable: Variable, values: Tensor): void {
  Variable.prototype.assign.call(variable, values);
}
