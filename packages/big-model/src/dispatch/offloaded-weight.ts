import type { DataId, Tensor, Variable } from '@tensorflow/tfjs-core';
import type { DeferredTensor, KernelLayer } from '@acc/contract';
import { refuseRecording } from '@acc/native';
import { besideTape, patch, type Undo } from '@acc/tfjs-internals';
import { emptyWeight, outdatedWeight } from '../errors.js';
import type { OffloadableDtype } from '../value-bytes.js';
import { byteLength } from './device-map.js';
import type { Place } from './places.js';
import type { Residency } from './residency.js';
import { writeValues } from './write-values.js';

/** What the weights of all dispatched models tell, and are asked. */
export interface OffloadedWeights {
  /** The variable has data of its own again, which is to be stored. */
  changed(weight: OffloadedWeight): void;
  /** The data id of the weight's variable has changed. */
  renamed(weight: OffloadedWeight, before: DataId | undefined, after: DataId): void;
}

export interface WeightSurroundings {
  readonly kernels: KernelLayer;
  readonly residency: Residency;
  readonly all: OffloadedWeights;
}

/** A variable whose values are elsewhere, and in memory while operators use them. */
export class OffloadedWeight {
  readonly bytes: number;
  /** The number of operators that use it now. */
  uses = 0;
  #deferred: DeferredTensor | undefined;
  #hasValues = false;
  #undo: Undo;

  /** @param variable Keeps its memory until {@link store} or {@link leaveEmpty}. */
  constructor(
    readonly variable: Variable,
    private readonly place: Place,
    private readonly surroundings: WeightSurroundings,
  ) {
    this.bytes = byteLength(variable);
    this.#undo = patch(variable, 'assign', (own) => (values) => {
      own.call(variable, values);
      if (this.isChanged) surroundings.all.changed(this);
    });
  }

  /** The data id of the values that are elsewhere. */
  get dataId(): DataId | undefined {
    return this.#deferred?.tensor.dataId;
  }

  /** Whether the variable has data of its own, which is newer than what is stored. */
  get isChanged(): boolean {
    return !this.variable.isDisposed && this.variable.dataId !== this.dataId;
  }

  /** Stores the values of the variable, and frees its memory. */
  store(): void {
    besideTape(() => {
      writeValues(this.variable, this.place, this.surroundings.kernels);
      this.#hasValues = true;
      this.#defer();
    });
  }

  /** Frees what memory the variable has. Reading it is an error until it is assigned values. */
  leaveEmpty(): void {
    this.#defer();
  }

  /** From now on, a read of the weight is an error. */
  forgetValues(): void {
    this.#hasValues = false;
    this.release();
  }

  /** Frees the memory of the values. The next use reads them again. */
  release(): void {
    this.#deferred?.release();
  }

  /** Lets the variable go: assignments to it give it memory. Values that it has can still be read. */
  handOver(): void {
    this.#undo();
  }

  #defer(): void {
    const { kernels, residency, all } = this.surroundings;
    const before = this.#deferred;
    // Tensors that share the values from before keep them.
    if (before && before.holders > 0) residency.forget(this);
    else residency.leave(this);
    const deferred = kernels.defer!(this.variable, () => this.#load(deferred));
    this.#deferred = deferred;
    this.variable.assign(deferred.tensor);
    deferred.tensor.dispose();
    all.renamed(this, before?.tensor.dataId, deferred.tensor.dataId);
  }

  /** Gives the variable its memory back. It was let go before. */
  restore(): void {
    if (!this.#hasValues || this.isChanged) return;
    const values = this.#read();
    this.variable.assign(values);
    values.dispose();
  }

  #load(deferred: DeferredTensor): void {
    const { name, shape } = this.variable;
    if (!this.#hasValues) throw emptyWeight(name, shape);
    if (deferred !== this.#deferred) throw outdatedWeight(name);
    const { kernels, residency } = this.surroundings;
    // A replay would repeat the allocation, and not the read. The recorder collects the memory of
    // several tensors, so they stay.
    const isRecording = kernels.recorder?.isRecording ?? false;
    if (isRecording) refuseRecording('reads an offloaded weight');
    residency.enter(this, !isRecording);
    besideTape(() => {
      try {
        const values = this.#read();
        deferred.fill(values);
        values.dispose();
      } catch (error) {
        residency.leave(this);
        throw error;
      }
    });
  }

  #read(): Tensor {
    const { dtype, shape } = this.variable;
    const target = this.surroundings.kernels.state.allocate(dtype as OffloadableDtype, shape);
    try {
      this.place.read(target.bytes);
    } catch (error) {
      target.dispose();
      throw error;
    }
    return target.toTensor();
  }
}
